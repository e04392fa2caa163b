"""Character grams: parts of words that are the same in every form of a word, in every language.

In scripts without spaces they do not depend on where a dictionary finds words; in scripts with spaces they find
inflected and compound words without a stemmer (McNamee, Mayfield: Character N-Gram Tokenization for European Language
Text Retrieval, Information Retrieval 7, 2004).
"""

import re
from functools import lru_cache
from itertools import pairwise

PREFIX = "^"
# Han, kana, Hangul, Thai, Lao, Myanmar and Khmer.
_DENSE = "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUNS = re.compile(f"([{_DENSE}]{{2,}})|([^\\W_{_DENSE}]{{3,}})")
_LONGEST_KNOWN = 40  # characters


def character_grams(text: str) -> list[str]:
    """Returns the grams of a canonical text with their prefix: 2-grams in scripts without spaces, else 3-grams."""
    grams: list[str] = []
    for dense, spaced in _RUNS.findall(text):
        if dense:
            grams += [f"{PREFIX}{one}{other}" for one, other in pairwise(dense)]
        else:
            grams += _known_word(spaced) if len(spaced) <= _LONGEST_KNOWN else _in_word(spaced)
    return grams


def _in_word(word: str) -> list[str]:
    return [PREFIX + word[start : start + 3] for start in range(len(word) - 2)]


# Words of scripts with spaces repeat; 8,192 take about 5 MB.
_known_word = lru_cache(maxsize=8192)(_in_word)
