"""The weights of terms in a text, 0 to 1."""

from collections.abc import Mapping

# Normalization of BM25F (Robertson, Zaragoza, Taylor: Simple BM25 Extension to Multiple Weighted Fields, CIKM 2004).
_LENGTH_SHARE = 0.75
# Above this, some thirty occurrences, the weight hardly grows.
_MOST_COUNTED = 0.97


def normalization(length: int, average: int) -> float:
    """Returns what the counts of the terms are divided by in a text of `length` terms."""
    return 1 - _LENGTH_SHARE + _LENGTH_SHARE * length / average


def saturated(frequencies: Mapping[str, float]) -> dict[str, float]:
    """Returns the weights of terms by their normalized frequencies."""
    return {term: frequency / (frequency + 1) for term, frequency in frequencies.items()}


def frequency_of(impact: float) -> float:
    """Returns the normalized frequency, weighted by fields, of a term with this weight."""
    return impact / (1 - min(impact, _MOST_COUNTED))


def impacts_in_chunk(counts: Mapping[str, int], length: int, *, average: int) -> dict[str, float]:
    """Returns the weight of some terms of a Table's chunk of `length` terms, by their counts.

    It has a body alone, and another `average` length; otherwise these are the weights of `index_words`.
    """
    norm = normalization(length, average)
    return saturated({term: count / norm for term, count in counts.items()})
