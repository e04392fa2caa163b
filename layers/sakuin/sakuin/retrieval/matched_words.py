"""The words of a text that matched a question."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sakuin.language.analysis import AnalyzedText, analyze, formula_terms
from sakuin.language.concepts import concept_mentions

MOST_SHOWN = 8

# What a person looks at; to read more costs more than it shows.
_READ = 1500


def matched_words(text: str, terms: Sequence[str]) -> tuple[str, ...]:
    """How `terms` of the index (the weightiest first) are written in `text`: neighbours as one, without repetition.

    At most `MOST_SHOWN`, those of the weightiest terms first.
    """
    if not terms:
        return ()
    weight = {term: place for place, term in enumerate(terms)}
    read = analyze(text[:_READ])
    best: dict[str, int] = {}
    for start, end, place in _joined(sorted(_places(read, weight))):
        words = read.text[start:end].strip()
        best[words] = min(place, best.get(words, place))
    # Of the same weight the first in the text: the title's own words stand before others.
    kept = sorted(best, key=lambda words: best[words])
    # 公式 says nothing beside 解の公式, nor 二 beside anything.
    whole = [words for words in kept if not any(words != other and words in other for other in kept)]
    return tuple(([words for words in whole if len(words) > 1] or whole)[:MOST_SHOWN])


def _places(text: AnalyzedText, weight: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """Begin, end and weight (0 is the greatest) of each stretch that has one of the terms."""
    at = 0
    for morpheme in (morpheme for line in text.lines for morpheme in line if morpheme.terms):
        start = text.text.find(morpheme.surface, at)
        if start >= 0:
            at = start + len(morpheme.surface)
            yield from _stretch(start, at, morpheme.terms, weight)
    for start, end, formula in text.formulas:
        yield from _stretch(start, end, formula_terms(formula), weight)
    for named in concept_mentions(text.text):
        yield from _stretch(named.start, named.end, (concept.term for concept in named.concepts), weight)


def _stretch(start: int, end: int, terms: Iterable[str], weight: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    places = [weight[term] for term in terms if term in weight]
    if places:
        yield start, end, min(places)


def _joined(places: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Stretches that touch or overlap as one, from the left."""
    whole: tuple[int, int, int] | None = None
    for start, end, place in places:
        if whole is not None and start <= whole[1]:
            whole = (whole[0], max(end, whole[1]), min(place, whole[2]))
            continue
        if whole is not None:
            yield whole
        whole = (start, end, place)
    if whole is not None:
        yield whole
