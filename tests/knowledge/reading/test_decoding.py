"""Encodings as browsers read them."""

import pytest
import webencodings
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.decoding import html_text


def decoded(label: str, body: bytes) -> str:
    return html_text(f"<meta charset={label}><p>".encode() + body).partition("<p>")[2]


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("EUC-JP", "euc_jis_2004", "①㎝㈱かん"),
        ("windows-949", "cp949", "똠방"),
        ("csshiftjis", "cp932", "髙橋①"),
        ("big5-hkscs", "big5hkscs", "啫"),
        ("gb_2312-80", "gb18030", "鎔"),
        ("tis-620", "cp874", "กข"),
        ("macintosh", "mac_roman", "é"),
        ("x-mac-cyrillic", "mac_cyrillic", "ж"),
        ("iso-8859-9", "cp1254", "“ş”"),
        ("latin1", "cp1252", "“é”"),
        ("unicode11utf8", "utf-8", "é"),
    ],
)
def test_old_encodings_are_those_of_browsers(label: str, codec: str, text: str) -> None:
    assert decoded(label, text.encode(codec)) == text


def test_iso_2022_jp_has_signs_of_nec_and_half_width_kana() -> None:
    assert decoded("iso-2022-jp", b"\x1b$B\x2d\x21\x24\x22\x1b(B ok \x1b(I\x31\x1b(B") == "①あ ok ｱ"


@pytest.mark.parametrize("label", sorted(webencodings.LABELS))
def test_each_label_of_browsers_is_known_or_one_that_they_refuse(label: str) -> None:
    if webencodings.LABELS[label] in ("replacement", "x-user-defined"):
        with pytest.raises(UnreadablePage, match=label):
            decoded(label, b"x")
    else:
        assert decoded(label, b"x") == "x"


def test_one_broken_byte_costs_no_long_page() -> None:
    assert decoded("utf-8", b"caf\xe9 " + b"word " * 1000).startswith("caf\ufffd word")
    with pytest.raises(UnreadablePage, match="utf-8"):
        decoded("utf-8", b"caf\xe9 " + b"word " * 10)
