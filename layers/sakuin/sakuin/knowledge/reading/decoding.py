"""Decoding of HTML files."""

import codecs
import json
import re
from contextlib import suppress

import chardet

from sakuin.errors import UnreadablePage
from sakuin.texts.catalogue import coded

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

MAGIC = (
    (b"%PDF-", "pdf"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x89PNG", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
)

CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)

COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)

# Browsers read these names as larger character sets (WHATWG Encoding Standard).
WIDER = {
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms_kanji"), "cp932"),
    **dict.fromkeys(("iso-8859-1", "latin1", "ascii", "us-ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be", "unicode"), "utf-8"),
    **dict.fromkeys(("x-euc-jp", "eucjp"), "euc_jp"),
}

# Python also has codecs that are not character sets (zip, hex, unicode_escape).
CHARACTER_SET = re.compile(r"utf-8|cp\d{3,5}|iso8859-\d+|euc_(?:jp|kr)|gb18030|big5|iso2022_jp|koi8-[ru]")

# Fewer bytes outside of ASCII tell no encoding.
FEWEST_BYTES = 4

HTML_TAG = re.compile(
    r"<(?:!doctype\s+html|html|head|body|main|article|section|div|p|span|h[1-6]|ul|ol|dl|table|a|pre|details"
    r"|b|i|em|strong|figure|img|header|footer|aside|nav|math|br|title|meta)\b[^<>]*>",
    re.IGNORECASE,
)

# Possessive, so that many comments do not cause backtracking: a comment can end in only one place.
FOREIGN_ROOT = re.compile(
    r"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+<(?:svg|rss|feed|urlset|plist)\b", re.DOTALL
)

CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})


def html_text(data: bytes) -> str:
    """Returns the text of a page. Raises `UnreadablePage` with the reason if `data` is not a decodable HTML page."""
    if not data.strip():
        raise UnreadablePage(coded("page.empty"))
    for magic, kind in MAGIC:
        if data.startswith(magic):
            raise UnreadablePage(coded("page.other_file", what=coded(f"kind.{kind}")))
    text = _decoded(data)
    if not text.strip("\x00 \t\r\n\f"):
        raise UnreadablePage(coded("page.empty"))
    written = text.encode()
    if len(written) - len(written.translate(None, CONTROLS)) > max(8, len(text) // 100):
        raise UnreadablePage(coded("page.binary"))
    if _is_json(text):
        raise UnreadablePage(coded("page.json"))
    if FOREIGN_ROOT.match(text):
        raise UnreadablePage(coded("page.xml"))
    if not HTML_TAG.search(text):
        raise UnreadablePage(coded("page.no_element"))
    return text.replace("\x00", "")


def _decoded(data: bytes) -> str:
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadablePage(coded("page.wrong_encoding", encoding=encoding, byte=str(error.start))) from error


def encoding_of(data: bytes) -> str:
    """Returns the encoding that the BOM or the beginning of a page names; else UTF-8, or the most probable one.

    Raises `UnreadablePage` if the page names one that is unknown.
    """
    for bom, encoding in BOMS:
        if data.startswith(bom):
            return encoding
    declared = CHARSET.search(COMMENT.sub(b"", data[:4096]))
    if declared is None:
        return _detected(data) or "utf-8"
    label = declared[1].decode("ascii", "replace").lower()
    if not (encoding := _codec(label)):
        raise UnreadablePage(coded("page.unknown_encoding", label=repr(label)))
    return encoding


def _detected(data: bytes) -> str:
    """Returns the probable encoding of bytes that are not UTF-8; empty if they are, or if there are too few to tell."""
    with suppress(UnicodeDecodeError):
        data.decode()
        return ""
    is_enough = len(data) - len(data.translate(None, bytes(range(128, 256)))) >= FEWEST_BYTES
    return _codec((chardet.detect(data)["encoding"] or "").lower()) if is_enough else ""


def _codec(label: str) -> str:
    """Returns Python's name of a character set, as browsers read it; empty if it is unknown."""
    try:
        encoding = codecs.lookup(WIDER.get(label, label)).name
    except (LookupError, ValueError):
        return ""
    return encoding if CHARACTER_SET.fullmatch(encoding) else ""


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
