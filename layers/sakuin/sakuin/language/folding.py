"""A text as it is compared: one width, one case, one way to write long vowels and repeated signs."""

import re
import unicodedata

from sakuin.language.normal_form import nfkc

# Controls but tab and newlines, soft hyphen, zero-width and bidirectional marks, lone surrogates, noncharacters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ud800-\udfff\ufff0-\uffff]"
)

_RAISED = re.compile("[⁰¹²³⁴-⁹⁺⁻ⁿˣ]+")

_LOWERED = re.compile("[₀-₉ₙₖ]+")

_REPLACED: dict[str, str] = {
    **dict.fromkeys("−‐‑‒–—﹣", "-"),
    **{"≦": "≤", "≧": "≥", "⩽": "≤", "⩾": "≥", "≒": "≈", "∼": "∽", "‖": "∥", "⋅": "·", "∙": "·", "∕": "/"},
    **{"⁄": "/", "ϕ": "φ", "ϑ": "θ", "∆": "△", "º": "°", "˚": "°", "℃": "°c", "✕": "×", "⨯": "×", "➗": "÷"},
    **{"“": '"', "”": '"', "‘": "'", "’": "'", "〜": "~", "～": "~"},
    **dict.fromkeys("\u2028\u2029", " "),
}

_SIGNS = str.maketrans(_REPLACED)

_LONG_VOWEL = re.compile(r"(?<=[ァ-ヶ])[-─━一](?=[ァ-ヶ])|(?<=[ァ-ヶ])[─━]")

_LONG_VOWELS = re.compile(r"ー{2,}")

_REPEATED = re.compile(r"([ぁ-ゖァ-ヶ])([ゝゞヽヾ]+)")

# Katakana that look like the kanji of a number: ニ次方程式.
_LOOKALIKE = re.compile(r"(?<![ァ-ヶー])([ニハ])(?=[次乗項等点辺角])")

_LOOKS_LIKE = {"ニ": "二", "ハ": "八"}


def seen(text: str) -> str:
    """`text` without the characters that nobody sees and no store takes: NUL, lone surrogates, bidirectional marks."""
    return _UNSEEN.sub("", text)


def folded(text: str) -> str:
    """`text` in NFKC and lower case, without signs that nobody sees; a power stays a power: `x²` is `x^2`.

    Idempotent. Never longer than 18 times `text` (NFKC writes ﷺ out), nearly always as long.
    """
    if text.isascii():
        return _UNSEEN.sub("", text).lower()
    text = _UNSEEN.sub("", text)
    text = _RAISED.sub(_power, text)
    text = _LOWERED.sub(_index, text)
    text = nfkc(text.translate(_SIGNS)).lower().translate(_SIGNS)
    # Lower case and NFKC undo each other for a few letters (İ, ſ): the second time settles them.
    text = _UNSEEN.sub("", nfkc(text))
    return _settled_kana(text)


def _settled_kana(text: str) -> str:
    text = _REPEATED.sub(_repeated, text)
    text = _LONG_VOWEL.sub("ー", text)
    text = _LONG_VOWELS.sub("ー", text)
    return _LOOKALIKE.sub(lambda match: _LOOKS_LIKE[match[1]], text)


def _power(match: re.Match[str]) -> str:
    return "^" + _plain(match[0])


def _index(match: re.Match[str]) -> str:
    return "_" + _plain(match[0])


def _plain(signs: str) -> str:
    plain = unicodedata.normalize("NFKC", signs).replace("−", "-")
    return plain if len(plain) == 1 or plain.isdigit() else f"({plain})"


def _repeated(match: re.Match[str]) -> str:
    kana = match[1]
    for mark in match[2]:
        base = unicodedata.normalize("NFD", kana[-1])[0]
        voiced = unicodedata.normalize("NFC", base + "\u3099")
        kana += voiced if mark in "ゞヾ" and len(voiced) == 1 else base if mark in "ゝヽ" else kana[-1]
    return kana
