"""Paired comparison of two runs over the same questions, with a significance test."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum

from sakuin_cli.evaluation.intervals import SEED, Resamples, draws

SAMPLES = 10_000
CELLS = ("before", "now", "change", "95% interval", "p", "higher", "lower")
# Up to so many changed questions, all sign combinations are computed; for more, SAMPLES random ones.
_EXACT = 13


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The means of `n` questions before and after, with interval and p value of the change.

    `higher` and `lower` count the changed questions.
    """

    before: float
    after: float
    change: float
    low: float
    high: float
    p: float
    higher: int
    lower: int
    n: int

    def cells(self) -> tuple[str, ...]:
        """Returns a table row with the columns `CELLS`."""
        interval = f"{self.low:+.3f} … {self.high:+.3f}"
        means = f"{self.before:.3f}", f"{self.after:.3f}", f"{self.change:+.3f}"
        return (*means, interval, f"{self.p:.3f}", str(self.higher), str(self.lower))


def difference(before: Sequence[float], after: Sequence[float], resamples: Resamples) -> MeanDifference | None:
    """Compares the values of each question before and after; None without questions."""
    changes = [new - old for old, new in zip(before, after, strict=True)]
    estimate = resamples.estimate(changes)
    if estimate is None:
        return None
    n = len(changes)
    return MeanDifference(
        before=fsum(before) / n,
        after=fsum(after) / n,
        change=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        p=probability_of_chance(changes),
        higher=sum(change > 0 for change in changes),
        lower=sum(change < 0 for change in changes),
        n=n,
    )


def probability_of_chance(changes: Sequence[float], *, samples: int = SAMPLES, seed: int = SEED) -> float:
    """Returns the p value of the two-sided randomisation test: each change gets a random sign.

    Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval evaluation,
    CIKM 2007.
    """
    moved = [abs(change) for change in changes if change]
    # The tolerance covers rounding errors.
    seen = abs(fsum(changes)) - 1e-12
    if len(moved) <= _EXACT:
        sums = [abs(fsum(map(float.__mul__, moved, signs))) for signs in product((1.0, -1.0), repeat=len(moved))]
        return sum(total >= seen for total in sums) / len(sums)
    numbers = draws(seed)
    whole = fsum(moved)
    far = 0
    for _ in range(samples):
        kept = fsum(value for value in moved if next(numbers) & 1)
        far += abs(2 * kept - whole) >= seen
    # The observed combination counts too, so that p is never 0.
    return (far + 1) / (samples + 1)
