"""Calibration of evidence into a similarity that means the same in every question."""

import math
from dataclasses import dataclass

# At this similarity a result is as likely right as wrong; below it the answer is `no_good_match`, and has this many
# results at most.
GOOD_MATCH, NEAREST = 0.5, 3
# Beside a good result, one below this has to have a word of the question.
NEAR_MATCH = 0.3
# The chunks of an index that say how near unrelated texts are to a question. Their mean alone needs fewer.
SAMPLE, SAMPLE_OF_MEAN = 200, 50


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights of evidence for one embedding model: docs/decisions/0050-one-ranking.md, 0065, 0078 and 0079.

    `unrelated_mean`, `unrelated_spread`: mean and standard deviation of the cosine between questions and unrelated
    texts of one language; None if the model was not measured, then a sample of the index says it for each question.
    `word_weight`: the evidence of all words of a question, in such standard deviations. `noise_terms`: a share that so
    many terms make up counts half if no text has the others. `crowd_weight`: the part of the tenth best cosine that is
    subtracted from all. `lacking_weight`: the part of the best text's evidence by words that is subtracted from all if
    no text has the question's other words. `example_penalty`: subtracted from examples nobody asked for.
    `absent_penalty`: subtracted from everything if the index has none of the concepts that the question names.
    `threshold`, `steepness`: the logistic function from evidence to similarity.
    """

    unrelated_mean: float | None = None
    unrelated_spread: float = 0.0
    word_weight: float = 15.0
    noise_terms: float = 2.0
    crowd_weight: float = 0.25
    lacking_weight: float = 1.0
    example_penalty: float = 3.0
    absent_penalty: float = 4.6
    threshold: float = -0.1
    steepness: float = 0.8

    @property
    def sample(self) -> int:
        """How many chunks of the index are compared with each question."""
        return SAMPLE if self.unrelated_mean is None else SAMPLE_OF_MEAN

    def words(self, share: float, noise: float) -> float:
        """Returns the evidence of a share of the question's words: half of it if the share is `noise`."""
        return self.word_weight * share**2 / (share + noise) if share > 0 else 0.0

    def similarity(self, evidence: float) -> float:
        """Returns the logistic function of evidence, 0-1."""
        # Beyond these bounds the rounded result does not change.
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, self.steepness * (evidence - self.threshold)))))


_MEASURED = {"multilingual-e5-small": Calibration(unrelated_mean=0.80, unrelated_spread=0.02)}
_UNKNOWN = Calibration(lacking_weight=0.5, threshold=0.75)


def calibration_of(model: str) -> Calibration:
    """Returns the weights for an embedding model."""
    return _MEASURED.get(model, _UNKNOWN)
