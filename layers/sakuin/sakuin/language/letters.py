"""Kana, Latin letters and English words in the form in which they are compared."""

import re
from functools import lru_cache

_KATAKANA = {code: code + 0x60 for code in range(ord("ぁ"), ord("ゖ") + 1)}
_KANA = re.compile(r"[ぁ-ゖァ-ヶー]+")
_POSSESSIVE = re.compile(r"'s?$")
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
    """Returns an English word without plural and possessive: `equations` and `equation's` become `equation`."""
    word = _POSSESSIVE.sub("", word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
