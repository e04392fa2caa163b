"""The words of pages that are not pushed yet, as the SQL functions of the search give them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby, islice, pairwise

from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.language.model import LexiconEntries, LexiconLookup
from sakuin.language.notation import canonical

from sakuin_cli.prediction.pages import PredictedChunk

_FORMS = 5
# `lexicon_entries` looks for the words of so many unknown ones, of so many letters.
_UNKNOWN_WORDS, _SHORTEST, _LONGEST = 8, 4, 40
_LONG = 7
_PLAIN = str.maketrans(
    "ガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴァィゥェォッャュョヮ",
    "カキクケコサシスセソタチツテトハヒフヘホハヒフヘホウアイウエオツヤユヨワ",
)


class PredictedWords:
    """`Words` of some chunks. `postings` are, by term, the numbers of the chunks with their impacts."""

    def __init__(
        self, chunks: Sequence[PredictedChunk], synonyms: Mapping[str, Sequence[Mapping[str, list[str]]]]
    ) -> None:
        self.postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._synonyms = synonyms
        readings: set[tuple[str, str, str]] = set()
        for number, chunk in enumerate(chunks):
            for term, impact in chunk.terms.items():
                self.postings[term].append((number, impact))
                if "\t" in term:
                    reading, _, rest = term.partition("\t")
                    readings.add((reading, rest.partition("\t")[0], term))
            readings |= {(word, word, term) for word, term in chunk.spelled.items()}
        self._readings: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._sounds: defaultdict[tuple[bool, str], list[tuple[str, str, str]]] = defaultdict(list)
        for reading, written, term in sorted(readings):
            if self.count(term):
                self._readings[reading].append((written, term))
                sound = _sound(reading)
                self._sounds[True, sound[:2]].append((sound, written, term))
                self._sounds[False, sound[-2:]].append((sound, written, term))

    def count(self, term: str) -> int:
        """Returns the number of chunks with a term."""
        return len(self.postings[term]) if term in self.postings else 0

    def look_up(self, query: str, words: LexiconLookup, filters: Filters = EVERYTHING) -> LexiconEntries:
        """Returns what `lexicon_entries` returns; a prediction has no filters."""
        known = {word for word, reading in words.words.items() if self._is_known(word, reading)}
        spellings = {reading: self._spellings(reading) for reading in words.readings if reading in self._readings}
        unknown = (
            (word, reading)
            for word, reading in sorted(words.words.items())
            if _SHORTEST <= len(reading) <= _LONGEST and word not in known and reading not in self._readings
        )
        near = {word: self._similar(reading) for word, reading in islice(unknown, _UNKNOWN_WORDS)}
        plain = canonical(query)
        groups = {
            folder: [tuple(group["phrases"]) for group in some if any(phrase in plain for phrase in group["plain"])]
            for folder, some in self._synonyms.items()
        }
        return LexiconEntries(
            spellings,
            {word: forms for word, forms in near.items() if forms},
            {folder: some for folder, some in groups.items() if some},
            frozenset(known),
        )

    def _is_known(self, word: str, reading: str) -> bool:
        return self.count(word) > 0 or any(written == word for written, _ in self._readings.get(reading or word, ()))

    def _spellings(self, reading: str) -> tuple[str, ...]:
        rows = sorted((-self.count(term), written) for written, term in self._readings[reading])
        return tuple(written for _, written in rows[:_FORMS])

    def _similar(self, reading: str) -> tuple[str, ...]:
        """Returns what `similar_words` returns."""
        sound, typos = _sound(reading), 2 if len(reading) >= _LONG else 1
        around = {*self._sounds.get((True, sound[:2]), ()), *self._sounds.get((False, sound[-2:]), ())}
        found = sorted(
            (written, distance, self.count(term))
            for other, written, term in around
            if abs(len(other) - len(sound)) <= typos and (distance := _distance(other, sound)) <= typos
        )
        rows = [(written, list(rows)) for written, rows in groupby(found, key=lambda row: row[0])]
        best = sorted((min(row[1] for row in some), -max(row[2] for row in some), written) for written, some in rows)
        return tuple(written for _, _, written in best[:_FORMS])


def _sound(reading: str) -> str:
    """Returns what the SQL function `sound_of` returns."""
    plain = reading.translate(_PLAIN)
    return "".join(letter for letter, _ in groupby(plain))


def _distance(one: str, other: str) -> int:
    """Returns the number of typing errors between two sounds, as `typo_distance` does."""
    edits = _edits(one, other)
    is_swapped = any(one[:at] + b + a + one[at + 2 :] == other for at, (a, b) in enumerate(pairwise(one)))
    return 1 if is_swapped else max(1, edits)


def _edits(one: str, other: str) -> int:
    """Returns the Levenshtein distance."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, wanted in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != wanted))
    return row[-1]
