"""Pages in any encoding and of any size, and what markup hides, breaks off or repeats."""

import codecs
import contextlib

import pytest
from botocore.response import StreamingBody
from sakuin.errors import UnreadablePage
from sakuin.knowledge.learns.writer import complete_learns
from sakuin.knowledge.reading.page_reader import MOST_CHARACTERS, read_page
from sakuin.platform.s3 import S3Bucket

from tests.effort import times
from tests.hostile.pages import ANCHOR, INPUTS, page, texts, titles

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


MEGABYTE = 1_000_000


@pytest.mark.parametrize("hiding", INPUTS["hidden"])
def test_what_no_reader_sees_is_in_no_title_and_no_content(hiding: str) -> None:
    html = page(f"<section id='rule-a'><h2>題{hiding}</h2><p>文{hiding}</p></section>")
    assert (titles(html), texts(html)) == ({"rule-a": "題"}, {"rule-a": "題\n文"})


@pytest.mark.parametrize("inert", ["template", "noscript", "iframe", "noframes", "noembed"])
def test_an_id_in_what_a_browser_does_not_build_is_no_anchor(inert: str) -> None:
    assert texts(page(f"<{inert}><p id='rule-x'>密</p></{inert}><p id='rule-a'>文")) == {"rule-a": "文"}


@pytest.mark.parametrize("rest", INPUTS["never_closed"])
def test_what_is_never_closed_costs_nothing_that_stands_before_it(rest: str) -> None:
    assert texts(page(f"<p id='rule-a'>前</p>{rest}<p id='rule-b'>後</p>"))["rule-a"].startswith("前")


@pytest.mark.parametrize("broken", INPUTS["broken"])
def test_broken_markup_costs_none_of_its_neighbours(broken: str) -> None:
    read = texts(page(f"<p id='rule-a'>前</p>{broken}<p>間</p><p id='rule-b'>後</p>"))
    assert (read["rule-a"], read["rule-b"]) == ("前", "後")


def test_a_billion_laughs_are_not_told() -> None:
    entities = '<!ENTITY a "ハ"><!ENTITY b "&a;&a;&a;">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(1, 20)
    )
    bomb = f"<!DOCTYPE html [{entities}]><p id='rule-a'>前 &t; 後</p>".encode()
    assert len(texts(bomb)["rule-a"]) < 100


@pytest.mark.parametrize("external", ["SYSTEM 'file:///etc/passwd'", "SYSTEM 'http://127.0.0.1:1/x'", "PUBLIC 'x' 'y'"])
def test_an_external_entity_is_never_fetched(external: str) -> None:
    html = f"<?xml version='1.0'?><!DOCTYPE html [<!ENTITY x {external}>]><html><p id='rule-a'>前&x;後</p></html>"
    assert "root:" not in texts(html.encode())["rule-a"]


@pytest.mark.parametrize("reference", INPUTS["references"])
def test_a_numeric_entity_that_is_no_visible_character_leaves_its_neighbours(reference: str) -> None:
    content = texts(page(f"<p id='rule-a'>前{reference}後"))["rule-a"]
    assert content.replace("\ufffd", "") == "前後"


@pytest.mark.parametrize(
    "pieces",
    [
        *([(r"\frac{", 80_000)], [("}", MEGABYTE)], [(r"\text{\label{", 50_000)], [(r"\sqrt{", 80_000), ("}", 80_000)]),
        *([("$", MEGABYTE)], [(r"\(", 400_000)], [("\\", MEGABYTE)], [(r"\def\a{\a\a}\a", 40_000)]),
        [("{", 500_000), ("}", 499_999)],
    ],
    ids=str,
)
def test_a_megabyte_of_tex_is_read_whatever_its_braces_say(pieces: list[tuple[str, int]]) -> None:
    tex = "".join(piece * times for piece, times in pieces)
    assert "後" in texts(page(f"{ANCHOR}{tex}<p id='rule-b'>後"))["rule-b"]


def test_a_title_that_stands_in_headings_within_headings_is_read_once_each() -> None:
    html = page("<h2>" * 50 + "題" * 100_000 + "<p id='rule-a'>文")
    assert texts(html) == {"rule-a": "文"}


def test_a_step_with_thousands_of_brackets_is_no_learns_item() -> None:
    read = read_page(page(f"{ANCHOR}<ol><li>両辺を割る{'(a)' * 100_000}</ol>"))
    assert 3 <= len(complete_learns((), read.explanations[0], read)) <= 5


# More than the 10 MB that are allowed.
HUGE = min(50, times(12)) * MEGABYTE
MANY = min(100_000, times(10_000))


class OneLargeObject:
    """The part of S3's client that reading needs; it counts the bytes that were read."""

    def __init__(self, size: int) -> None:
        self.size, self.read_bytes, self.closed = size, 0, False

    def get_object(self, **_asked: str) -> dict[str, object]:
        return {"ContentLength": self.size, "Body": StreamingBody(self, self.size), "VersionId": "v1"}

    def read(self, amount: int | None = None) -> bytes:
        self.read_bytes += amount or self.size
        return b"x" * (amount or self.size)

    def close(self) -> None:
        self.closed = True


def test_a_50_mb_page_is_refused_before_its_body_travels() -> None:
    stored = OneLargeObject(50 * MEGABYTE)
    with pytest.raises(UnreadablePage, match="50,000,000 bytes; the limit is 10,000,000"):
        S3Bucket(stored, "materials").read("a.html", max_bytes=10 * MEGABYTE)
    assert (stored.read_bytes, stored.closed) == (0, True)


def test_a_page_over_the_limit_is_refused_by_what_it_holds_where_the_limit_is_raised() -> None:
    with pytest.raises(UnreadablePage, match=r"^It has more than 200,000 elements\. Split the page\.$"):
        # No tree is built of what a drawing contains, which would take longer than everything else here.
        read_page(page(f"{ANCHOR}<svg>{'<b>' * (HUGE // 3)}"))
    assert texts(page(f"<p id='rule-a' title='{'x' * HUGE}'>文")) == {"rule-a": "文"}


def test_a_page_of_more_words_than_a_worker_reads_in_time_is_refused() -> None:
    with pytest.raises(UnreadablePage, match=f"the limit is {MOST_CHARACTERS:,}"):
        read_page(page(ANCHOR + "two words " * (MEGABYTE // 2)))


def test_thousands_of_nested_tags_lose_nothing_inside_or_after_them() -> None:
    deep = page("<div>" * MANY + "<p id='rule-deep'>内</p>" + "</div>" * MANY + "<p id='rule-after'>後</p>")
    assert texts(deep) == {"rule-deep": "内", "rule-after": "後"}


def test_thousands_of_ids_are_all_known_and_those_that_explain_are_limited() -> None:
    many = page("".join(f'<p id="x{number}">' for number in range(MANY)) + "<p id='rule-a'>x")
    read = read_page(many)
    assert (len(read.ids), [explanation.anchor for explanation in read.explanations]) == (MANY + 1, ["rule-a"])
    with pytest.raises(UnreadablePage, match="2,001 semantic ids; the limit is 2,000"):
        read_page(page("".join(f'<p id="rule-{number}">x' for number in range(2001))))


def test_an_id_of_a_megabyte_is_no_anchor_and_costs_its_page_nothing() -> None:
    assert list(texts(page(f"<p id='rule-{'x' * MEGABYTE}'>長<p id='rule-b'>短"))) == [":~:page", "rule-b"]


@pytest.mark.parametrize("attribute", ["title", "class", "style", "data-title", "aria-label", "href", "alt"])
def test_an_attribute_of_a_megabyte_is_read_past(attribute: str) -> None:
    huge = page(f"<p id='rule-a'><a {attribute}='{'x ' * (MEGABYTE // 2)}'>文</a><p id='rule-b'>後")
    assert texts(huge) == {"rule-a": "文", "rule-b": "後"}
