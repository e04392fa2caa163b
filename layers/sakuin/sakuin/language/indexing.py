"""The words of a text for the index: term weights, readings and spellings."""

from collections.abc import Mapping, Sequence

from sakuin.language.analysis import analyze, term_counts
from sakuin.language.model import IndexedWords
from sakuin.language.readings import readings_of, spelled_words
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary

# The weight of title and `learns` beside the body's, and normalization of BM25F (Robertson, Zaragoza, Taylor: Simple
# BM25 Extension to Multiple Weighted Fields, CIKM 2004), set by hand. The average length is a constant, so that the
# weights of one text do not depend on other texts.
TITLE_WEIGHT = 4.0
AVERAGE_TERMS = 600
LENGTH_SHARE = 0.75
# Above this, some thirty occurrences, the weight hardly grows.
_MOST_COUNTED = 0.97
# Words behind this place are not indexed: one SQL statement could not write them all.
LONGEST_BODY = 100_000  # characters


def index_words(
    *, title: str, learns: Sequence[str], body: str, vocabulary: Vocabulary = NO_VOCABULARY
) -> IndexedWords:
    """Returns the weighted terms, the readings and the spelled words of a text.

    The weight of a term is tf / (tf + 1), where tf is its count over all fields, weighted and normalized by length.
    """
    texts = [
        analyze(text, mathematics=vocabulary.mathematics) for text in ("\n".join((title, *learns)), body[:LONGEST_BODY])
    ]
    fields = [(weight, term_counts(text, vocabulary)) for weight, text in zip((TITLE_WEIGHT, 1.0), texts, strict=True)]
    lines = [line for text in texts for line in text.lines]
    return IndexedWords(_impacts(fields), readings_of(lines), spelled_words(lines))


def impacts_in_chunk(counts: Mapping[str, int], length: int, *, average: int) -> dict[str, float]:
    """Returns the weight, (0-1], of some terms of a Table's chunk of `length` terms, by their counts.

    It has a body alone, and another `average` length; otherwise these are the weights of `index_words`.
    """
    norm = _norm(length, average)
    return _saturated({term: count / norm for term, count in counts.items()})


def frequency_of(impact: float) -> float:
    """Returns the normalized frequency, weighted by fields, of a term with this weight."""
    return impact / (1 - min(impact, _MOST_COUNTED))


def _impacts(fields: Sequence[tuple[float, Mapping[str, int]]]) -> dict[str, float]:
    norm = _norm(sum(sum(counts.values()) for _, counts in fields), AVERAGE_TERMS)
    weighted: dict[str, float] = {}
    for weight, counts in fields:
        for term, count in counts.items():
            weighted[term] = weighted.get(term, 0.0) + weight * count / norm
    return _saturated(weighted)


def _norm(length: int, average: int) -> float:
    return 1 - LENGTH_SHARE + LENGTH_SHARE * length / average


def _saturated(weighted: Mapping[str, float]) -> dict[str, float]:
    return {term: frequency / (frequency + 1) for term, frequency in weighted.items()}
