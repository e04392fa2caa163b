"""Character grams: parts of words that are the same in every form of a word, in every language.

In scripts without spaces they do not depend on where a dictionary finds words; in scripts with spaces they find
inflected and compound words without a stemmer (McNamee, Mayfield: Character N-Gram Tokenization for European Language
Text Retrieval, Information Retrieval 7, 2004).
"""

import re
import unicodedata
from functools import lru_cache
from operator import add

PREFIX = "^"
# Han, kana, Hangul, Thai, Lao, Myanmar and Khmer.
_DENSE = "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Marks, which `\\w` does not match, and signs.
_NO_LETTER = re.compile(r"[^\w\s\x00-\x7f]")
_LONGEST_KNOWN = 40  # characters
_LONGEST_GRAM = 9  # characters


def character_grams(text: str) -> list[str]:
    """Returns the grams of a canonical text with their prefix: 2-grams in scripts without spaces, else 3-grams.

    In scripts without spaces, a letter with its vowel signs counts as one.
    """
    marks = "".join(sorted(sign for sign in set(_NO_LETTER.findall(text)) if unicodedata.category(sign)[0] == "M"))
    runs, letters = _patterns(marks)
    grams: list[str] = []
    for dense, spaced in runs.findall(text):
        if dense:
            signs = letters.findall(dense) if marks else dense
            grams += [PREFIX + pair for pair in map(add, signs, signs[1:]) if len(pair) <= _LONGEST_GRAM]
        else:
            grams += _known_word(spaced) if len(spaced) <= _LONGEST_KNOWN else _in_word(spaced)
    return grams


@lru_cache(maxsize=64)
def _patterns(marks: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns what matches a run of letters, and a letter with its marks, of a text with `marks`."""
    letter = f"[^\\W_{_DENSE}]"
    pattern = f"(?:{letter}|[{marks}])" if marks else letter
    return re.compile(f"([{_DENSE}]{{2,}})|({pattern}{{3,}})"), re.compile(f".[{marks}]*" if marks else ".")


def _in_word(word: str) -> list[str]:
    return [PREFIX + word[start : start + 3] for start in range(len(word) - 2)]


# Words of scripts with spaces repeat; 8,192 take about 5 MB.
_known_word = lru_cache(maxsize=8192)(_in_word)
