"""Pages in any encoding, honestly declared or not."""

import codecs
import contextlib

import pytest
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.page_reader import read_page

from tests.hostile.pages import page, texts

HTML = "<!DOCTYPE html><html><head>{}</head><body><p id='rule-解'>解の公式①髙</p></body></html>"


def declared(charset: str) -> str:
    return HTML.format(f"<meta charset='{charset}'>")


@pytest.mark.parametrize(
    ("bom", "codec"),
    [
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF8, "utf-8"),
    ],
)
@pytest.mark.parametrize("charset", ["utf-16", "utf-8", "Shift_JIS"])
def test_a_byte_order_mark_wins_over_what_is_declared(bom: bytes, codec: str, charset: str) -> None:
    assert texts(bom + declared(charset).encode(codec)) == {"rule-解": "解の公式①髙"}


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_wide_characters_without_a_mark_are_refused_or_nothing_is_made_of_them(codec: str) -> None:
    with pytest.raises(UnreadablePage, match=r"Save it|binary|no HTML"):
        read_page(declared("utf-8").encode(codec))


@pytest.mark.parametrize(
    ("charset", "codec"), [("utf-8", "cp932"), ("utf-8", "euc_jp"), ("Shift_JIS", "utf-8"), ("us-ascii", "cp932")]
)
def test_a_page_in_another_encoding_than_declared_is_refused_or_read(charset: str, codec: str) -> None:
    data = (declared(charset).replace("①髙", "") + "表示能力" * 50).encode(codec)
    with contextlib.suppress(UnreadablePage):
        assert read_page(data).ids


@pytest.mark.parametrize(
    "charset", ["zip", "hex", "unicode_escape", "utf-7", "idna", "undefined", "x" * 3000, "../etc"]
)
def test_an_encoding_that_is_none_is_refused_by_its_name(charset: str) -> None:
    with pytest.raises(UnreadablePage, match="unknown encoding"):
        read_page(declared(charset).encode())


def test_nul_bidi_and_zero_width_characters_reach_neither_title_nor_content_nor_anchor() -> None:
    hidden = "\x00\u202e\u200b\u2066\ufeff\u00ad\U000e0041\x1b\x07"
    html = page(f"<section id='rule-{hidden}a'><h2>題{hidden}名</h2><p>文{hidden}章</p></section>")
    (explanation,) = read_page(html).explanations
    assert (explanation.anchor, explanation.title, explanation.content) == ("rule-a", "題名", "題名\n文章")


def test_a_declaration_among_thousands_of_spaces_costs_nothing() -> None:
    html = b"<meta charset=" + b" " * 4000 + b"><meta charset" + b"=" * 50 + b"><p id='rule-a'>x"
    assert texts(html) == {"rule-a": "x"}
