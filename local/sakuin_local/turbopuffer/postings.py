"""The words of rows, and BM25 over them (Robertson and Zaragoza 2009; idf as in Lucene)."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
import regex
from numpy.typing import NDArray

from sakuin_local.turbopuffer.columns import Growing
from sakuin_local.turbopuffer.schema import FullText

# Up to so many words after the last sort are scanned linearly.
UNSORTED = 200_000


# Unicode's default word boundaries (UAX #29): kanji and hiragana are single, katakana stay together.
_BOUNDARY = regex.compile(r"(?V1w)\b")
# Spaces and punctuation are no words; an emoji is.
_WORD = regex.compile(r"[\p{Alphabetic}\p{N}]|\p{Emoji_Presentation}")


def tokens(value: str | Sequence[str], full_text: FullText) -> list[str]:
    """Returns the tokens of a stored value or a query, in order; a `pre_tokenized_array` is already tokenized."""
    texts = [value] if isinstance(value, str) else value
    found = texts if full_text.is_pre_tokenized else [word for text in texts for word in _words(text, full_text)]
    return [token for token in found if len(token.encode()) <= full_text.max_token_length]


def _words(text: str, full_text: FullText) -> list[str]:
    segments = [segment for segment in _BOUNDARY.split(text) if _WORD.search(segment)]
    return segments if full_text.case_sensitive else [segment.lower() for segment in segments]


class _Numbers(dict[str, int]):
    """A number for each word, assigned at its first use."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class Postings:
    """The words of one attribute. Rows are added in ascending order."""

    def __init__(self, full_text: FullText) -> None:
        self._full_text = full_text
        self._numbers = _Numbers()
        self._words, self._rows, self._counts = Growing(np.int32), Growing(np.int32), Growing(np.float32)
        # By row: where its words begin and end above, and their number with repetition.
        self._starts, self._ends, self._lengths = Growing(np.int64), Growing(np.int64), Growing(np.float32)
        # By word: the number of rows with it.
        self._frequencies = Growing(np.int64)
        self._documents, self._total_length = 0, 0.0
        self._sorted_to = 0
        self._offsets: NDArray[np.int64] = np.zeros(1, np.int64)
        self._sorted_rows: NDArray[np.int32] = np.empty(0, np.int32)
        self._sorted_counts: NDArray[np.float32] = np.empty(0, np.float32)

    def add(self, documents: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Adds the words of new rows, in ascending order of the rows."""
        if not documents:
            return
        lengths = [len(words) for _, words in documents]
        words = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(w for _, w in documents)), np.int64)
        rows = np.repeat([row for row, _ in documents], lengths).astype(np.int64)
        # One sort counts the words of each row.
        pairs, counts = np.unique(rows << 32 | words, return_counts=True)
        before = len(self._words)
        self._words.extend(pairs & 0xFFFFFFFF)
        self._rows.extend(pairs >> 32)
        self._counts.extend(counts)
        self._frequencies.fill_to(len(self._numbers))
        self._frequencies.view[:] += np.bincount(pairs & 0xFFFFFFFF, minlength=len(self._numbers))
        own = [row for row, _ in documents]
        self._cover(own[-1] + 1)
        self._starts.view[own] = before + np.searchsorted(pairs >> 32, own, "left")
        self._ends.view[own] = before + np.searchsorted(pairs >> 32, own, "right")
        self._lengths.view[own] = lengths
        self._documents += sum(map(bool, lengths))
        self._total_length += sum(lengths)

    def remove(self, row: int) -> None:
        """Removes a row from the statistics."""
        self._cover(row + 1)
        words = self._words.view[self._starts.view[row] : self._ends.view[row]]
        self._frequencies.view[words] -= 1
        self._documents -= bool(self._lengths.view[row])
        self._total_length -= float(self._lengths.view[row])

    def scores(self, query: Sequence[str], size: int) -> NDArray[np.float32]:
        """Returns a score for each row, 0 for rows without any of the words."""
        self._cover(size)
        scores = np.zeros(size, np.float32)
        weights = self._weights(query)
        if not weights:
            return scores
        if len(self._words) - self._sorted_to > max(UNSORTED, self._sorted_to // 8):
            self._sort()
        k1, b = self._full_text.k1, self._full_text.b
        average = self._total_length / max(self._documents, 1)
        lengths = k1 * (1 - b + b * self._lengths.view / max(average, 1e-9))
        for word, weight in weights.items():
            if word + 1 < len(self._offsets):
                part = slice(self._offsets[word], self._offsets[word + 1])
                rows, counts = self._sorted_rows[part], self._sorted_counts[part]
                scores[rows] += weight * (k1 + 1) * counts / (counts + lengths[rows])
        by_word = np.zeros(len(self._numbers), np.float32)
        by_word[list(weights)] = list(weights.values())
        unsorted = by_word[self._words.view[self._sorted_to :]]
        hits = np.flatnonzero(unsorted)
        rows, counts = self._rows.view[self._sorted_to :][hits], self._counts.view[self._sorted_to :][hits]
        np.add.at(scores, rows, unsorted[hits] * (k1 + 1) * counts / (counts + lengths[rows]))
        return scores

    def _weights(self, query: Sequence[str]) -> dict[int, float]:
        weights = {}
        k3 = self._full_text.k3
        for word, times in Counter(query).items():
            number = self._numbers.get(word)
            frequency = int(self._frequencies.view[number]) if number is not None else 0
            if number is not None and frequency:
                rarity = np.log1p((self._documents - frequency + 0.5) / (frequency + 0.5))
                weights[number] = float(rarity) * (k3 + 1) * times / (k3 + times)
        return weights

    def _sort(self) -> None:
        words = self._words.view
        # Numpy sorts 16-bit numbers in linear time: first by the low bits, then by the high ones.
        order = np.argsort((words & 0xFFFF).astype(np.uint16), kind="stable")
        if len(self._numbers) > 0xFFFF:
            order = order[np.argsort((words[order] >> 16).astype(np.uint16), kind="stable")]
        self._sorted_rows, self._sorted_counts = self._rows.view[order], self._counts.view[order]
        self._offsets = np.concatenate(([0], np.cumsum(np.bincount(words, minlength=len(self._numbers)))))
        self._sorted_to = len(words)

    def _cover(self, size: int) -> None:
        for by_row in (self._starts, self._ends, self._lengths):
            by_row.fill_to(size)
