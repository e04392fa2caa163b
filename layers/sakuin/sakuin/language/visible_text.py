"""Text that people see: without control, invisible and direction-changing characters."""

import re

from sakuin.language.normal_form import nfc

# Controls, soft hyphen, zero width, bidi controls, variation selectors and tags (which can carry
# hidden messages), surrogates; not tab, line feed, form feed and return, which are white space.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)

KANA_OR_KANJI = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]")


def visible(text: str) -> str:
    """`text` in NFC, without characters that nobody sees."""
    return nfc(INVISIBLE.sub("", text))


def one_line(text: str) -> str:
    """Visible text with every run of white space as one space."""
    return " ".join(visible(text).split())


def is_japanese(text: str) -> bool:
    """Whether `text` holds any kana or kanji."""
    return KANA_OR_KANJI.search(text) is not None
