"""Matched words: how the terms of a question are spelled in a result."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from sakuin.language.analysis import AnalyzedText, analyze
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary

MOST_SHOWN = 8
_ANALYZED = 1500  # characters; more would cost more time than it improves the display
# Which Sudachi takes for a part of the word.
_PUNCTUATION = " ।॥،؛؟۔።፣"
# The results of a library repeat. An analysis takes most of the time, and about 12 kB.
_analyzed = lru_cache(maxsize=256)(analyze)


def matched_words(text: str, terms: Sequence[str], vocabulary: Vocabulary = NO_VOCABULARY) -> tuple[str, ...]:
    """Returns the spellings in `text` of index terms, adjacent ones joined, without repetition.

    `terms` come with the highest weight first, and so do the spellings, at most `MOST_SHOWN`.
    """
    if not terms:
        return ()
    weight = {term: place for place, term in enumerate(terms)}
    read = _analyzed(text[:_ANALYZED], mathematics=vocabulary.mathematics)
    best: dict[str, int] = {}
    for start, end, place in _joined(sorted(_places(read, weight, vocabulary))):
        words = read.text[start:end].strip(_PUNCTUATION)
        best[words] = min(place, best.get(words, place))
    # Ties keep the order of the text, which starts with the title.
    ordered = sorted(best, key=lambda words: best[words])
    # A part of a longer spelling is redundant (公式 beside 解の公式), and so is a single character.
    whole = [words for words in ordered if not any(words != other and words in other for other in ordered)]
    return tuple(([words for words in whole if len(words) > 1] or whole)[:MOST_SHOWN])


def _places(text: AnalyzedText, weight: Mapping[str, int], vocabulary: Vocabulary) -> Iterator[tuple[int, int, int]]:
    """Yields start, end and rank (0 is the highest weight) of each span with one of the terms."""
    at = 0
    for morpheme in (morpheme for line in text.lines for morpheme in line if morpheme.terms):
        start = text.text.find(morpheme.surface, at)
        if start >= 0:
            at = start + len(morpheme.surface)
            yield from _span_of(start, at, morpheme.terms, weight)
    for start, end, terms in text.formulas:
        yield from _span_of(start, end, terms, weight)
    for named in vocabulary.mentions(text.text):
        yield from _span_of(named.start, named.end, (concept.term for concept in named.concepts), weight)


def _span_of(start: int, end: int, terms: Iterable[str], weight: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    places = [weight[term] for term in terms if term in weight]
    if places:
        yield start, end, min(places)


def _joined(places: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Returns spans from left to right, adjacent and overlapping ones joined."""
    joined: list[tuple[int, int, int]] = []
    for start, end, place in places:
        if joined and start <= joined[-1][1]:
            first, last, best = joined.pop()
            joined.append((first, max(end, last), min(place, best)))
        else:
            joined.append((start, end, place))
    return joined
