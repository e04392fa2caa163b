"""How evidence becomes a similarity that is comparable between questions."""

from dataclasses import asdict, dataclass

# At this similarity an answer is as likely right as wrong: below it the index says that it has none.
GOOD_MATCH = 0.5

# Not good enough for an answer, but worth a もしかして.
NEAR_MATCH = 0.3


@dataclass(frozen=True, slots=True)
class Calibration:
    """How evidence is weighed.

    `prior_mean` and `prior_spread` are the cosines that the model gives to a question and texts at random; they
    count as `prior_size` texts beside those of the index itself. `presence` is what a word counts for being there at
    all, before how much of the text it is. `posting_budget` is how many chunks are followed
    from a question's words before the more frequent ones only judge what others found.
    """

    prior_mean: float
    prior_spread: float
    prior_size: float = 20.0
    word_weight: float = 10.0
    reading_weight: float = 1.0
    presence: float = 0.4
    missing_penalty: float = 1.5
    example_penalty: float = 2.0
    threshold: float = 4.4
    steepness: float = 0.5
    posting_budget: float = 10_000

    def as_json(self) -> dict[str, float]:
        """The constants as the SQL function reads them."""
        return asdict(self)


_MEASURED = {
    "multilingual-e5-small": Calibration(prior_mean=0.81, prior_spread=0.016),
    # From published distributions of unrelated pairs, not measured here: the index's own texts soon outweigh it.
    "text-embedding-3-small": Calibration(prior_mean=0.16, prior_spread=0.06),
}

# A model that nobody has looked at yet: only the index's own texts count.
_UNKNOWN = Calibration(prior_mean=0.0, prior_spread=1.0, prior_size=0.001)


def calibration_of(model: str) -> Calibration:
    """The constants of an embedding model."""
    return _MEASURED.get(model, _UNKNOWN)
