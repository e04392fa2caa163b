"""Kana, Latin letters and English words in the form in which they are compared."""

import re
from functools import lru_cache

_KATAKANA = {code: code + 0x60 for code in range(ord("ぁ"), ord("ゖ") + 1)}
_KANA = re.compile(r"[ぁ-ゖァ-ヶー]+")
_POSSESSIVE = re.compile(r"'s?$")
# Of words without vowel signs, whose forms of alef, yeh and teh are one each.
_ARABIC_START = re.compile(r"^(?:[وفبك]?ال|لل|و)(?=\w{3})")
_ARABIC_END = re.compile(r"(?<=\w{3})(?:ها|ان|ات|ون|ين|يه|ه|ي)$")
# Readings of variables.
_NAMES = """
エー ビー シー ディー エフ ジー エイチ ケー エム エヌ ピー キュー アール エス ティー エックス ワイ ゼット
アルファ ベータ シータ パイ パーセント
"""
LETTERS = dict(zip("abcdfghkmnpqrstxyzαβθπ%", _NAMES.split(), strict=True))


def to_katakana(text: str) -> str:
    """Returns `text` with katakana for hiragana."""
    return text.translate(_KATAKANA)


def is_kana(text: str) -> bool:
    """Returns whether `text` consists of kana only; False if it is empty."""
    return _KANA.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Returns an English word without plural and possessive: `equations` and `equation's` become `equation`.

    An Arabic word is without article, conjunction and endings (Larkey, Ballesteros, Connell: Light Stemming for Arabic
    Information Retrieval, 2007).
    """
    word = _ARABIC_END.sub("", _ARABIC_START.sub("", _POSSESSIVE.sub("", word)))
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
