"""Decoding of HTML files."""

import codecs
import json
import re
from contextlib import suppress

import chardet
import webencodings

from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.rules import pattern, table
from sakuin.texts.catalogue import coded

BOMS = {
    **{codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"},
    **{codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"},
}
# The kinds of other files by their first bytes.
MAGIC = {sign.encode("latin-1"): kind for sign, kind in table("magic").items()}

CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
# Python's codecs that read more than those of `webencodings`, at once or where those fail.
WIDER = {"gbk": "gb18030", "utf-16-le": "utf-8", "utf-16-be": "utf-8"}  # whose beginning can be read is no UTF-16
SECOND = {"euc_jp": "euc_jis_2004", "big5hkscs": "cp950"}
# Browsers do not read these: they hide markup.
REFUSED = frozenset({"replacement", "x-user-defined"})
# Names that browsers do not have.
OF_IBM = re.compile(r"cp\d{3,5}|utf-8|gb18030")
# The character sets of ISO-2022-JP, between escapes.
ESCAPE = re.compile(rb"\x1b(\$[@B]|\([BIJ])")
# One broken byte in so many is shown as a replacement character. Fewer bytes outside of ASCII tell no encoding.
BYTES_A_BROKEN_ONE, FEWEST_BYTES = 2000, 4
HTML_TAG, FOREIGN_ROOT = pattern("html_tag"), pattern("foreign_root")
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})


def html_text(data: bytes) -> str:
    """Returns the text of a page. Raises `UnreadablePage` with the reason if `data` is not a decodable HTML page."""
    if kind := next((kind for sign, kind in MAGIC.items() if data.startswith(sign)), ""):
        raise UnreadablePage(coded("page.other_file", what=coded(f"kind.{kind}")))
    text = decoded(data, encoding_of(data)) if data.strip() else ""
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
    encoding = next((name for bom, name in BOMS.items() if data.startswith(bom)), "")
    if not encoding and b"\x00" in data:  # the other half of a letter of ASCII
        encoding = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
    return decoded(data, encoding or _detected(data) or "utf-8")


def decoded(data: bytes, encoding: str) -> str:
    """Returns a text. Raises `UnreadablePage` if more than a few bytes are not of the encoding."""
    try:
        return _of_iso_2022_jp(data) if encoding == "iso2022_jp" else data.decode(encoding)
    except UnicodeDecodeError as error:
        with suppress(UnicodeDecodeError):
            return data.decode(SECOND.get(encoding, encoding))
        replaced = data.decode(encoding, "replace")
        if replaced.count("\ufffd") <= len(data) // BYTES_A_BROKEN_ONE:
            return replaced
        raise UnreadablePage(coded("page.wrong_encoding", encoding=encoding, byte=str(error.start))) from error


def _of_iso_2022_jp(data: bytes) -> str:
    """Returns the text of ISO-2022-JP as browsers read it, with half-width kana and ①: its characters are EUC-JP's."""
    text, *parts = ESCAPE.split(data)
    written = text.decode("ascii")
    for escape, part in zip(parts[::2], parts[1::2], strict=True):
        upper = bytes(byte | 0x80 if byte > 0x20 else byte for byte in part)
        if escape in (b"(B", b"(J"):
            written += part.decode("ascii")
        else:
            written += upper.decode("cp932") if escape == b"(I" else decoded(upper, "euc_jp")
    return written


def encoding_of(data: bytes) -> str:
    """Returns the encoding that a page names, else the most probable one. Raises `UnreadablePage` if it is unknown."""
    for bom, encoding in BOMS.items():
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
    """Returns Python's name of a character set, as browsers read its label; empty if it is unknown."""
    if encoding := webencodings.lookup(label):
        codec = encoding.codec_info.name
        return "" if encoding.name in REFUSED else WIDER.get(codec, codec)
    with suppress(LookupError, ValueError):
        codec = codecs.lookup(label).name
        return codec if OF_IBM.fullmatch(codec) else ""
    return ""


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False
