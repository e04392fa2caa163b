"""What the chunks of the in-memory index say of words, as `look_up_words` does."""

import re
from collections import Counter
from dataclasses import dataclass

from sakuin.domain.language.question import KnownWords, Sought
from sakuin.domain.language.synonyms_in_question import synonyms_in

from tests.in_memory.index import MemoryIndex

MOST = 5
_PLAIN = str.maketrans(
    "ガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴァィゥェォッャュョヮ",
    "カキクケコサシスセソタチツテトハヒフヘホハヒフヘホウアイウエオツヤユヨワ",
)


@dataclass(frozen=True, slots=True)
class MemoryLexicon:
    """A `Lexicon`."""

    index: MemoryIndex

    def look_up(self, query: str, sought: Sought) -> KnownWords:
        counts = Counter(pair for stored in self.index.chunks.values() for pair in stored.chunk.words.readings)
        readings = {reading for reading, _ in counts}
        terms = {term for stored in self.index.chunks.values() for term in stored.chunk.words.impacts}
        written = {reading: _written(reading, counts) for reading in sought.readings & readings}
        near = {
            word: forms
            for word, reading in sought.words.items()
            if 4 <= len(reading) <= 40
            and word not in terms
            and reading not in readings
            and (forms := _near(reading, counts))
        }
        groups = [tuple(group) for kept in self.index.synonyms.values() for group in kept.groups]
        return KnownWords(written, near, synonyms_in(query, groups))


def sound_of(reading: str) -> str:
    """A reading in which voiced, small and doubled kana are plain ones."""
    return re.sub(r"(.)\1+", r"\1", reading.translate(_PLAIN))


def _written(reading: str, counts: Counter[tuple[str, str]]) -> tuple[str, ...]:
    forms = {form: count for (other, form), count in counts.items() if other == reading}
    return tuple(sorted(forms, key=lambda form: (-forms[form], form))[:MOST])


def _near(reading: str, counts: Counter[tuple[str, str]]) -> tuple[str, ...]:
    sound, most = sound_of(reading), 2 if len(reading) >= 7 else 1
    best: dict[str, tuple[int, int]] = {}
    for (other, form), count in counts.items():
        its = sound_of(other)
        if its[:2] == sound[:2] or its[-2:] == sound[-2:]:
            slips = 1 if _is_swapped(sound, its) else max(1, _edits(sound, its))
            if slips <= most:
                best[form] = min(best.get(form, (slips, 0)), (slips, -count))
    return tuple(sorted(best, key=lambda form: (*best[form], form))[:MOST])


def _is_swapped(one: str, other: str) -> bool:
    swaps = (one[:at] + one[at + 1] + one[at] + one[at + 2 :] for at in range(len(one) - 1))
    return one != other and other in swaps


def _edits(one: str, other: str) -> int:
    """The distance of Levenshtein."""
    row = list(range(len(other) + 1))
    for i, kana in enumerate(one, 1):
        before, row = row, [i]
        for j, wanted in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (kana != wanted)))
    return row[-1]
