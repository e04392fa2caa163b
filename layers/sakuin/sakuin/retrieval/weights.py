"""The learned weights of the ranking, and the probability that a result answers.

`python -m benchmarks.learning` writes `weights.json`, all but what is known of the models:
docs/explanation/how-a-question-is-answered.md.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from sakuin.retrieval.index_version import ANALYZER
from sakuin.retrieval.vectors import SearchMode

# Below this similarity of the best result an answer is `no_good_match`.
LEAST_SIMILARITY = 0.2
# An answer with `no_good_match` has this many results at most.
NEAREST = 3
# What an answer says with weights that are not calibrated.
UNCALIBRATED = "similarity is uncalibrated: it was not measured with this embedding model and analyzer."
# Beside a good result, one with less than this share of its probability has to have a word of the question.
NEAR_MATCH = 0.05
# The chunks of an index that say how near unrelated texts are to a question.
SAMPLE = 100


@dataclass(frozen=True, slots=True)
class Scale:
    """The probability that a result answers: a logistic regression over its score, up to `enough`, and its lead.

    The lead is what its score has more than all other scores of the question together (`leads`). A score beyond
    `enough` says that the question is answered, and nothing about which result answers it; a lead beyond `most` says
    nothing more.
    `ahead`: what a good match gets to its score for its lead.
    `least`: the least score of a good match that has no character gram of the question, `by_grams`: how much more one
    with all of them needs. `by_meaning`, 0-1: how much of the scale is that for meaning alone. `lower`:
    `Unrelated.lower` of the question.
    """

    constant: float
    score: float
    lead: float
    least: float
    enough: float = math.inf
    most: float = math.inf
    ahead: float = 0.0
    by_grams: float = 0.0
    by_meaning: float = 0.0
    lower: float = 0.0

    def similarity(self, score: float, lead: float, doubt: float = 0.0) -> float:
        """Returns the probability, 0-1, with four decimals. `doubt`, in logits, makes it less."""
        exponent = self.constant + self.score * min(score, self.enough) + self.lead * min(lead, self.most) - doubt
        # Beyond these bounds the rounded result does not change.
        return round(1 / (1 + math.exp(-max(-50.0, min(50.0, exponent)))), 4)

    def strength(self, score: float, lead: float) -> float:
        """Returns what is compared with the need of a good match: of many alike, none is refused for that."""
        return score + self.ahead * max(0.0, min(lead, self.most))

    def towards(self, other: "Scale", share: float) -> "Scale":
        """Returns the scale with `share`, 0-1, of the probability from `other`, in logits."""
        names = ("constant", "score", "lead", "enough", "most")
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in names}
        mixture = {name: own + share * (of_other - own) for name, (own, of_other) in pairs.items()}
        return replace(self, by_meaning=share, **mixture)


def learned_scale(parts: Mapping[str, float]) -> Scale:
    """Returns a scale of `weights.json`: what a good match needs is enough."""
    return Scale(**parts, enough=parts["least"])


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a candidate's features in its score, and how a score becomes a similarity.

    `meaning`: of the cosine in standard deviations, `inner`: of those that the first passage is farther. `words`,
    `covered`: of the shares of the question's words in `WordMatch`. `scattered`: of the share of the words that is
    scattered over the text. `example`: of an example nobody asked for. `section`: of a section beside an author's box
    of its page. `farther`: what a good match needs less for each deviation of `Unrelated.lower`. `doubts`: in logits,
    what a result is less probable for each of `Lack.doubts`. `is_calibrated`: the scales were learned with this model
    and analyzer. `mean`, `spread`: of the model's cosines between unrelated texts; they count as much as `known` texts
    of the index.
    """

    meaning: float
    inner: float
    words: float
    covered: float
    scattered: float
    example: float
    section: float
    scales: Mapping[SearchMode, Scale]
    farther: float
    doubts: Mapping[str, float]
    mean: float
    spread: float
    known: int
    is_calibrated: bool = True

    def score(self, z: float, words: float, covered: float, inner: float = 0.0) -> float:
        """Returns the score of a candidate that is no example."""
        return self.meaning * z + self.inner * inner + self.words * words + self.covered * covered

    def scale(self, *, has_words: bool, has_vector: bool, known_share: float = 1.0, lower: float = 0.0) -> Scale:
        """Returns the scale for what there is of a question to compare with texts.

        The less of its words the index knows, the more the scale for meaning alone counts. A text that has all grams of
        a question is in its language: it needs what a good match needs if the mean is not lower.
        """
        if not has_vector:
            return self.scales["words"]
        both, vectors = self.scales["both"], self.scales["vectors"]
        if not has_words:
            return vectors
        scale = both.towards(vectors, (1 - known_share) ** 2)
        by_grams = (self.meaning + self.farther) * lower
        return replace(scale, least=both.least - self.farther * lower, by_grams=by_grams, lower=lower)


@cache
def weights_of(model: str, analyzer: str = ANALYZER) -> Weights:
    """Returns the learned weights, with what is known of an embedding model."""
    learned = json.loads(files(__package__).joinpath("weights.json").read_text("utf-8"))
    scales = {name: learned_scale(scale) for name, scale in learned["scales"].items()}
    models = learned["models"]
    of_model = models.get(model, models["another"])
    parts = {name: learned[name] for name in ("farther", "doubts")}
    provenance = learned["provenance"]
    is_calibrated = (model, analyzer) == (provenance["embedding_model"], provenance["analyzer"])
    return Weights(**learned["score"], **parts, scales=scales, is_calibrated=is_calibrated, **of_model)
