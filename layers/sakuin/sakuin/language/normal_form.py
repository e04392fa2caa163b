"""Unicode's normal forms, in a time that grows with the text and not with its square."""

import re
import unicodedata
from itertools import groupby

# What may be a row of combining marks, none of which is a letter, a digit or white space. Python sorts the marks of a
# letter by exchanging neighbours (UAX #15, canonical ordering): thousands in a wrong order take minutes.
_LONG_ROW = re.compile(r"[^\w\s\x00-\x7f]{32,}")

_LONG_WIDE_ROW = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}")

# Those that are no marks themselves and become some.
_APART = str.maketrans({"\u0f73": "\u0f71\u0f72", "\u0f75": "\u0f71\u0f74", "\u0f81": "\u0f71\u0f80"})

_WIDE_APART = {**_APART, 0xFF9E: "\u3099", 0xFF9F: "\u309a"}


def nfc(text: str) -> str:
    """`text` in Normalization Form C."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _LONG_ROW.sub(lambda row: _ordered(row[0].translate(_APART)), text))


def nfkc(text: str) -> str:
    """`text` in Normalization Form KC."""
    if text.isascii():
        return text
    in_order = _LONG_WIDE_ROW.sub(lambda row: _ordered(row[0].translate(_WIDE_APART)), text)
    return unicodedata.normalize("NFKC", in_order)


def _ordered(row: str) -> str:
    """The same text for Unicode: marks stand by their class, those of one class as they stood."""
    marks = groupby(row, key=lambda sign: unicodedata.combining(sign) > 0)
    return "".join("".join(sorted(part, key=unicodedata.combining) if are else part) for are, part in marks)
