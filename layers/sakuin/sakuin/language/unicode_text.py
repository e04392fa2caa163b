"""Unicode text: normal forms, visible characters, the folded form in which texts are compared, and its tokens."""

import json
import re
import unicodedata
from itertools import groupby

# Possible long runs of combining marks. Python orders the marks of a letter with an insertion sort (canonical ordering,
# UAX #15): thousands of marks in the wrong order would take minutes, so long runs are sorted here first.
_LONG_ROW = re.compile(r"[^\w\s\x00-\x7f]{32,}")
_LONG_WIDE_ROW = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}")
# Characters that decompose into combining marks.
_APART = str.maketrans({"\u0f73": "\u0f71\u0f72", "\u0f75": "\u0f71\u0f74", "\u0f81": "\u0f71\u0f80"})
_WIDE_APART = {**_APART, 0xFF9E: "\u3099", 0xFF9F: "\u309a"}
# From here on the scripts of China, Japan and Korea, and pictographs.
_WIDE_SCRIPTS = re.compile("[\u2e80-\U0010ffff]")


def nfc(text: str) -> str:
    """Returns `text` in Normalization Form C."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _LONG_ROW.sub(lambda row: _ordered(row[0].translate(_APART)), text))


def nfkc(text: str) -> str:
    """Returns `text` in Normalization Form KC."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    in_order = _LONG_WIDE_ROW.sub(lambda row: _ordered(row[0].translate(_WIDE_APART)), text)
    return unicodedata.normalize("NFKC", in_order)


def estimated_tokens(text: str) -> int:
    """Returns a quarter for each ASCII character, one for each wide character and a half for each other one.

    Of OpenAI's o200k_base, 0.9 to 1.3 times its tokens for Latin scripts, Chinese and Japanese, up to 1.7 for others
    (docs/decisions/0115).
    """
    ascii_ones, wide_ones = len(text.encode("ascii", "ignore")), len(_WIDE_SCRIPTS.findall(text))
    return -(-(2 * len(text) - ascii_ones + 2 * wide_ones) // 4)


def _ordered(row: str) -> str:
    """Returns a canonically equivalent run with its marks in a stable order of their combining classes."""
    marks = groupby(row, key=lambda sign: unicodedata.combining(sign) > 0)
    return "".join("".join(sorted(part, key=unicodedata.combining) if are else part) for are, part in marks)


# Control characters, soft hyphens, zero-width and bidirectional characters, variation selectors, tags (they can carry
# hidden messages) and surrogates. Tab, line feed, form feed and carriage return are white space and stay.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)
KANA_OR_KANJI = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]")


def visible(text: str) -> str:
    """Returns `text` in NFC without invisible characters."""
    return nfc(INVISIBLE.sub("", text))


def one_line(text: str) -> str:
    """Returns the visible text on one line, with single spaces."""
    return " ".join(visible(text).split())


def with_escapes(text: str) -> str:
    """Returns JSON with its invisible characters as escapes: the same values, and a reader sees the characters."""
    return INVISIBLE.sub(lambda hidden: json.dumps(hidden.group())[1:-1], text)


def is_japanese(text: str) -> bool:
    """Returns whether `text` contains kana or kanji."""
    return KANA_OR_KANJI.search(text) is not None


# Control characters except tab, line feed and carriage return; soft hyphens; zero-width and bidirectional characters;
# lone surrogates; noncharacters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ud800-\udfff\ufff0-\uffff]"
)
# Python finds a pattern several times faster if it begins with a class of characters. So a class stands before its own
# repetition here, and what must precede a character is looked up behind it.
_RAISED = re.compile("[⁰¹²³⁴-⁹⁺⁻ⁿˣ][⁰¹²³⁴-⁹⁺⁻ⁿˣ]*")
_LOWERED = re.compile("[₀-₉ₙₖ][₀-₉ₙₖ]*")
_REPLACED: dict[str, str] = {
    **dict.fromkeys("−‐‑‒–—﹣", "-"),
    **{"≦": "≤", "≧": "≥", "⩽": "≤", "⩾": "≥", "≒": "≈", "∼": "∽", "‖": "∥", "⋅": "·", "∙": "·", "∕": "/"},
    **{"⁄": "/", "ϕ": "φ", "ϑ": "θ", "∆": "△", "º": "°", "˚": "°", "℃": "°c", "✕": "×", "⨯": "×", "➗": "÷"},
    **{"“": '"', "”": '"', "‘": "'", "’": "'", "〜": "~", "～": "~"},
    **dict.fromkeys("\u2028\u2029", " "),
    # Arabic as Lucene's ArabicNormalizer and PersianNormalizer have it, and Hebrew without points.
    **dict.fromkeys("آأإٱ", "ا"),
    **{"ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه"},
    **dict.fromkeys(
        map(chr, (0x640, *range(0x64B, 0x660), 0x670, *range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C7)), ""
    ),
}
_SIGN = re.compile(f"[{re.escape(''.join(_REPLACED))}]")
# U.S. is US.
_ABBREVIATION = re.compile(r"[a-z](?<![^\W_].)(?:\.[a-z])+\.?(?!\w)")
_DOTS = re.compile("i\u0307+")  # İstanbul in lower case
_LONG_VOWEL = re.compile(r"[-─━一](?<=[ァ-ヶ].)(?:(?<=[─━])|(?=[ァ-ヶ]))")
_LONG_VOWELS = re.compile(r"ーー+")
_REPEATED = re.compile(r"[ゝゞヽヾ](?<=[ぁ-ゖァ-ヶ].)[ゝゞヽヾ]*")

# Katakana that look like the kanji of a number: ニ次方程式 for 二次方程式.
_LOOKALIKE = re.compile(r"[ニハ](?<![ァ-ヶー].)(?=[次乗項等点辺角])")


def storable(text: str) -> str:
    """Returns `text` without NUL, lone surrogates and other characters that are invisible or that stores reject."""
    return _UNSEEN.sub("", text)


def folded(text: str) -> str:
    """Returns `text` in NFKC and lower case, without invisible characters; powers stay powers: `x²` becomes `x^2`.

    Also unifies dashes, quotation marks, abbreviations with dots, mathematical signs, long vowels, repetition marks and
    letters of Arabic; vowel points of Arabic and Hebrew go.
    Idempotent. The result has at most 18 times as many characters (NFKC expands ﷺ), usually the same number.
    """
    if text.isascii():
        return _abbreviated(storable(text).lower())
    text = _RAISED.sub(lambda match: "^" + _plain_digits(match[0]), storable(text))
    text = _LOWERED.sub(lambda match: "_" + _plain_digits(match[0]), text)
    text = _DOTS.sub("i", _with_signs_unified(nfkc(_with_signs_unified(text)).lower()))
    # Lower case and NFKC change each other's result for a few letters (İ, ſ): a second NFKC makes it stable.
    text = _abbreviated(storable(nfkc(text)))
    text = _REPEATED.sub(_expanded_repetition, text)
    text = _LONG_VOWELS.sub("ー", _LONG_VOWEL.sub("ー", text))
    return _LOOKALIKE.sub(lambda match: "二" if match[0] == "ニ" else "八", text)


def _abbreviated(text: str) -> str:
    return _ABBREVIATION.sub(lambda match: match[0].replace(".", ""), text)


def _with_signs_unified(text: str) -> str:
    # str.translate looks up every character.
    return _SIGN.sub(lambda match: _REPLACED[match[0]], text)


def _plain_digits(signs: str) -> str:
    plain = unicodedata.normalize("NFKC", signs).replace("−", "-")
    return plain if len(plain) == 1 or plain.isdigit() else f"({plain})"


def _expanded_repetition(match: re.Match[str]) -> str:
    kana = match.string[match.start() - 1]
    for mark in match[0]:
        base = unicodedata.normalize("NFD", kana[-1])[0]
        voiced = unicodedata.normalize("NFC", base + "\u3099")
        kana += voiced if mark in "ゞヾ" and len(voiced) == 1 else base if mark in "ゝヽ" else kana[-1]
    return kana[1:]
