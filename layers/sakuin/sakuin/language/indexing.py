"""The words of a text for the index: term weights, readings and spellings."""

from collections.abc import Mapping, Sequence

from sakuin.language.analysis import analyze, term_counts
from sakuin.language.impacts import normalization, saturated
from sakuin.language.model import LONGEST_BODY, IndexedWords
from sakuin.language.readings import readings_of, spelled_words
from sakuin.language.vocabulary import NO_VOCABULARY, Vocabulary

# The weight of title and `learns` beside the body's, set by hand. The average length is a constant, so that the weights
# of one text do not depend on other texts.
TITLE_WEIGHT = 4.0
AVERAGE_TERMS = 600


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


def _impacts(fields: Sequence[tuple[float, Mapping[str, int]]]) -> dict[str, float]:
    norm = normalization(sum(sum(counts.values()) for _, counts in fields), AVERAGE_TERMS)
    weighted: dict[str, float] = {}
    for weight, counts in fields:
        for term, count in counts.items():
            weighted[term] = weighted.get(term, 0.0) + weight * count / norm
    return saturated(weighted)
