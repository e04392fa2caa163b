"""Whether two runs over the same questions differ by more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum

from sakuin_cli.evaluation.intervals import SEED, Resamples, draws

FLIPS = 10_000
CELLS = ("before", "now", "change", "95% interval", "p", "higher", "lower")
# So many questions that differ are tried in every way; of more, FLIPS ways are drawn.
_EXACT = 13


@dataclass(frozen=True, slots=True)
class Difference:
    """The means of `n` questions before and after, the interval of their difference, and its p.

    `higher` and `lower` count the questions that changed.
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
        """The row of a table with the columns `CELLS`."""
        interval = f"{self.low:+.3f} … {self.high:+.3f}"
        means = f"{self.before:.3f}", f"{self.after:.3f}", f"{self.change:+.3f}"
        return (*means, interval, f"{self.p:.3f}", str(self.higher), str(self.lower))


def difference(before: Sequence[float], after: Sequence[float], resamples: Resamples) -> Difference | None:
    """How `after` differs from `before`, question by question; None without questions."""
    changes = [new - old for old, new in zip(before, after, strict=True)]
    estimate = resamples.estimate(changes)
    if estimate is None:
        return None
    n = len(changes)
    return Difference(
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


def probability_of_chance(changes: Sequence[float], *, flips: int = FLIPS, seed: int = SEED) -> float:
    """How often the mean is as far from 0 when each change has a random sign: the randomisation test, two-sided.

    Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval evaluation,
    CIKM 2007.
    """
    moved = [abs(change) for change in changes if change]
    # What counts as just as far may differ in the last bit.
    seen = abs(fsum(changes)) - 1e-12
    if len(moved) <= _EXACT:
        sums = [abs(fsum(map(float.__mul__, moved, signs))) for signs in product((1.0, -1.0), repeat=len(moved))]
        return sum(total >= seen for total in sums) / len(sums)
    numbers = draws(seed)
    whole = fsum(moved)
    far = 0
    for _ in range(flips):
        kept = fsum(value for value in moved if next(numbers) & 1)
        far += abs(2 * kept - whole) >= seen
    # What was seen is one of the ways: p is never 0.
    return (far + 1) / (flips + 1)
