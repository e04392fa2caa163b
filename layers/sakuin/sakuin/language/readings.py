"""Readings and spellings of the words in a text: the lexicon for questions in kana, and for typos."""

import re
from collections.abc import Iterator, Mapping, Sequence

from sakuin.language.letters import is_kana
from sakuin.language.morphemes import Morpheme

LONGEST_COMPOUND = 5  # morphemes
LONGEST_READING = 24  # kana
MOST_READINGS = 2000  # of one text
MOST_WORDS = 2000  # of one text
# Words of scripts with spaces: Latin, Greek, Cyrillic.
SHORTEST_SPELLED = 2
SPELLED_WORD = re.compile(rf"[a-zß-öø-ɏͰ-ӿḀ-ỿ]{{{SHORTEST_SPELLED},40}}")


def readings_of(lines: Sequence[Sequence[Morpheme]]) -> frozenset[tuple[str, str]]:
    """Returns pairs of katakana reading and spelling, of words and of compounds with up to five morphemes.

    Words in kana are included, so that a kana word of a question is recognized as a word of the text.
    """
    pairs: set[tuple[str, str]] = set()
    for line in lines:
        for reading, written, last in compounds(line):
            size = len(reading)
            # Verbs are left to the dictionary: かける can be 掛ける, 書ける or 欠ける.
            if not last.is_noun or not 2 <= size <= LONGEST_READING or written.isdigit():
                continue
            # Kana are as long as their reading.
            if size == len(written) and (size < 3 or written != last.surface) and is_kana(written):
                continue
            pairs.add((reading, written))
            if len(pairs) == MOST_READINGS:
                return frozenset(pairs)
    return frozenset(pairs)


def spelled_words(lines: Sequence[Sequence[Morpheme]]) -> Mapping[str, str]:
    """Returns each word of a script with spaces, as the text spells it, with its term in the index."""
    words: dict[str, str] = {}
    for line in lines:
        for morpheme in line:
            word = morpheme.surface
            if len(word) >= SHORTEST_SPELLED and morpheme.terms and word not in words and SPELLED_WORD.fullmatch(word):
                words[word] = morpheme.terms[0]
                if len(words) == MOST_WORDS:
                    return words
    return words


def compounds(line: Sequence[Morpheme]) -> Iterator[tuple[str, str, Morpheme]]:
    """Yields reading, spelling and last morpheme of each word and each compound noun in a line."""
    for start, first in enumerate(line):
        if not first.may_begin:
            continue
        reading, written, before = first.reading, first.surface, first
        if first.part != "接頭辞":
            yield reading, written, first
        for last in line[start + 1 : start + LONGEST_COMPOUND]:
            # 方 continues a verb: 解き方.
            if last.reading == " " or not ((last.is_noun and before.is_noun) or last.surface == "方"):
                break
            reading += last.reading
            written += last.surface
            before = last
            if last.part != "接頭辞":
                yield reading, written, last
