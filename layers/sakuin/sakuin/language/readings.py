"""How the words of a text are read: what a question written in kana is looked up in."""

from collections.abc import Iterator, Sequence

from sakuin.language.letters import is_kana
from sakuin.language.morphemes import Morpheme

LONGEST_COMPOUND = 5  # morphemes

LONGEST_READING = 24  # kana

MOST_READINGS = 2000  # of one text


def mined_readings(lines: Sequence[Sequence[Morpheme]]) -> frozenset[tuple[str, str]]:
    """Pairs of a reading in katakana and how it is written: words, and compounds of up to five morphemes.

    Also words that are written in kana, so that a question's kana word is known for a word of the text.
    """
    found: dict[tuple[str, str], None] = {}
    for line in lines:
        for pair in _pairs(line):
            found[pair] = None
            if len(found) == MOST_READINGS:
                return frozenset(found)
    return frozenset(found)


def compounds(line: Sequence[Morpheme]) -> Iterator[tuple[str, str, Morpheme]]:
    """Reading and writing of each word and compound noun in a line that could be looked up, and its last morpheme."""
    for start, first in enumerate(line):
        if not first.may_begin:
            continue
        reading = written = ""
        before = first
        for last in line[start : start + LONGEST_COMPOUND]:
            # 解き方: a way goes on after its verb.
            if last.reading == " " or (
                last is not first and not ((last.is_noun and before.is_noun) or last.surface == "方")
            ):
                break
            reading += last.reading
            written += last.surface
            before = last
            if last.part != "接頭辞":
                yield reading, written, last


def _pairs(line: Sequence[Morpheme]) -> Iterator[tuple[str, str]]:
    for reading, written, last in compounds(line):
        size = len(reading)
        if not 2 <= size <= LONGEST_READING:
            continue
        # かける is 掛ける, 書ける and 欠ける: the dictionary knows better than the most frequent.
        if not last.is_noun or (is_kana(written) and (size < 3 or written != last.surface)):
            continue
        if not written.isdigit():
            yield reading, written
