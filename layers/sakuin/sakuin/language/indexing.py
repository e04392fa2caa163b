"""What the index keeps of a text's words: how much the text is about each, and how they are read."""

from collections.abc import Mapping, Sequence

from sakuin.language.analysis import analyzed, counted
from sakuin.language.indexed_words import IndexedWords
from sakuin.language.readings import mined_readings

# BM25F (Robertson, Zaragoza, Taylor: Simple BM25 Extension to Multiple Weighted Fields, CIKM 2004). The average
# length is a constant of the analyzer, so that one text never changes what another is about.
TITLE_WEIGHT, LEARNS_WEIGHT, BODY_WEIGHT = 4.0, 3.0, 1.0

AVERAGE_TERMS = 400

LENGTH_SHARE = 0.4

SATURATION = 1.2

# By the words behind it nothing is found: one statement could not write them all.
LONGEST_BODY = 100_000  # characters


def index_words(*, title: str, learns: Sequence[str], body: str) -> IndexedWords:
    """The terms of a text, its name and what it teaches above the rest, and the readings of its words."""
    texts = [analyzed(text) for text in (title, "\n".join(learns), body[:LONGEST_BODY])]
    weights = (TITLE_WEIGHT, LEARNS_WEIGHT, BODY_WEIGHT)
    fields = [(weight, counted(text)) for weight, text in zip(weights, texts, strict=True)]
    readings = mined_readings([line for text in texts for line in text.lines])
    return IndexedWords(impacts=_impacts(fields), readings=readings)


def _impacts(fields: Sequence[tuple[float, Mapping[str, int]]]) -> dict[str, float]:
    length = sum(sum(counts.values()) for _, counts in fields)
    norm = 1 - LENGTH_SHARE + LENGTH_SHARE * length / AVERAGE_TERMS
    weighted: dict[str, float] = {}
    for weight, counts in fields:
        for term, count in counts.items():
            weighted[term] = weighted.get(term, 0.0) + weight * count / norm
    return {term: frequency / (frequency + SATURATION) for term, frequency in weighted.items()}
