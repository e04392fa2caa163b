"""Calibration of evidence into a similarity that is comparable between questions."""

from dataclasses import asdict, dataclass

# At this similarity a result is as likely right as wrong; below it the answer is `no_good_match`.
GOOD_MATCH = 0.5
# Below `GOOD_MATCH`, but good enough for a suggestion.
NEAR_MATCH = 0.3


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights of evidence for one embedding model: docs/decisions/0006-similarity.md.

    `prior_mean`, `prior_spread`: mean and standard deviation of the cosine between questions and random texts, counted
    as `prior_size` texts beside the texts of the index. `presence_weight`: the share of a word's weight for its mere
    presence; the rest is proportional to its impact. `missing_penalty`, `example_penalty`: subtracted for words
    without a match and for examples nobody asked for. `threshold`, `steepness`: the logistic function from evidence
    to similarity. `posting_budget`: the chunks to read from postings; the question's more frequent words beyond it
    only score the chunks that rarer words found.
    """

    prior_mean: float
    prior_spread: float
    prior_size: float = 20.0
    word_weight: float = 10.0
    reading_weight: float = 1.0
    presence_weight: float = 0.4
    missing_penalty: float = 1.5
    example_penalty: float = 2.0
    threshold: float = 4.4
    steepness: float = 0.5
    posting_budget: float = 10_000

    def as_json(self) -> dict[str, float]:
        """Returns the weights as the SQL function reads them."""
        return asdict(self)


_MEASURED = {
    "multilingual-e5-small": Calibration(prior_mean=0.81, prior_spread=0.016),
    # From published distributions of unrelated pairs, not measured; the texts of the index soon outweigh them.
    "text-embedding-3-small": Calibration(prior_mean=0.16, prior_spread=0.06),
}
# A model without measurements: only the texts of the index count.
_UNKNOWN = Calibration(prior_mean=0.0, prior_spread=1.0, prior_size=0.001)


def calibration_of(model: str) -> Calibration:
    """Returns the weights for an embedding model."""
    return _MEASURED.get(model, _UNKNOWN)
