"""Decoding of HTML files."""

import codecs
import json
import re
from contextlib import suppress

import chardet
import webencodings

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

# Python's codecs for encodings of the WHATWG Encoding Standard that it names otherwise, or reads more narrowly. A text
# that the first cannot decode may have a character of the second.
CODECS = {
    **{"shift_jis": ("cp932",), "euc-jp": ("euc_jp", "euc_jis_2004"), "euc-kr": ("cp949",), "gbk": ("gb18030",)},
    **{"big5": ("big5hkscs", "cp950"), "windows-874": ("cp874",), "ibm866": ("cp866",), "iso-8859-8-i": ("iso8859-8",)},
    **{"macintosh": ("mac_roman",), "x-mac-cyrillic": ("mac_cyrillic",), "iso-2022-jp": ("iso2022_jp",)},
    # A file whose beginning can be read is neither.
    **{"utf-16le": ("utf-8",), "utf-16be": ("utf-8",), "unicode": ("utf-8",), "utf-16": ("utf-8",)},
}
# Browsers do not read these: they hide markup.
REFUSED = frozenset({"replacement", "x-user-defined", "utf-7"})

# Names that browsers do not have.
OF_IBM = re.compile(r"cp\d{3,5}|utf-8|gb18030")

# The character sets of ISO-2022-JP, between escapes.
ESCAPE = re.compile(rb"\x1b(\$[@B]|\([BIJ])")

# One broken byte in so many is shown as a replacement character; more are another encoding.
BYTES_A_BROKEN_ONE = 2000

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


def plain_file_text(data: bytes) -> str:
    """Returns the text of a file that cannot name its encoding. Raises `UnreadablePage` if `data` is not decodable."""
    encoding = next((name for bom, name in BOMS if data.startswith(bom)), "")
    if not encoding and b"\x00" in data:  # the other half of a letter of ASCII
        encoding = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
    return _decoded_as(data, encoding or _detected(data) or "utf-8")


def _decoded(data: bytes) -> str:
    return _decoded_as(data, encoding_of(data))


def _decoded_as(data: bytes, encoding: str) -> str:
    first, *others = (encoding,) if encoding.startswith("utf") else CODECS.get(_whatwg(encoding), (encoding,))
    try:
        return _of_iso_2022_jp(data) if first == "iso2022_jp" else data.decode(first)
    except UnicodeDecodeError as error:
        for other in others:
            with suppress(UnicodeDecodeError):
                return data.decode(other)
        replaced = data.decode(first, "replace")
        if replaced.count("\ufffd") <= len(data) // BYTES_A_BROKEN_ONE:
            return replaced
        raise UnreadablePage(coded("page.wrong_encoding", encoding=encoding, byte=str(error.start))) from error


def _of_iso_2022_jp(data: bytes) -> str:
    """Returns the text of ISO-2022-JP as browsers read it, with half-width kana and ①: its characters are EUC-JP's."""
    text, *parts = ESCAPE.split(data)
    written = text.decode("ascii")
    for escape, part in zip(parts[::2], parts[1::2], strict=True):
        if escape in (b"(B", b"(J"):
            written += part.decode("ascii")
        else:
            upper = bytes(byte | 0x80 if byte > 0x20 else byte for byte in part)
            written += upper.decode("cp932") if escape == b"(I" else _decoded_as(upper, "euc-jp")
    return written


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
    """Returns the name of a character set, as browsers read its label; empty if it is unknown."""
    name = _whatwg(label)
    if name in REFUSED:
        return ""
    try:
        codec = codecs.lookup(CODECS.get(name, (name,))[0])
    except (LookupError, ValueError):
        return ""
    # Python also has codecs that are no character sets (zip, hex, unicode_escape).
    is_known = name in CODECS or name in webencodings.LABELS.values() or OF_IBM.fullmatch(codec.name) is not None
    return (codec.name if len(CODECS.get(name, ())) < 2 and name != "iso-2022-jp" else name) if is_known else ""


def _whatwg(label: str) -> str:
    return str(webencodings.LABELS.get(label, label))


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
