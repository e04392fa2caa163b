"""Statistics over questions: bootstrap intervals of a mean, and a randomization test between two runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum
from random import Random
from statistics import quantiles

TIMES = 1000
FLIPS = 10_000
CONFIDENCE = 0.95
SEED = 20261122
CELLS = ("before", "now", "change", "95% interval", "p", "higher", "lower")
# With up to this many changed questions all signs are enumerated; with more, FLIPS random ones are drawn.
_EXACT = 13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` questions and its 95% confidence interval."""

    mean: float
    low: float
    high: float
    n: int


class Resamples:
    """Samples of questions with replacement, each as large as the original.

    Every measure and every variant uses the same samples: faster, and the figures of one group are comparable.
    """

    def __init__(self, *, times: int = TIMES, seed: int = SEED) -> None:
        self._times = times
        self._seed = seed
        self._by_size: dict[int, list[list[int]]] = {}

    def estimate(self, values: Sequence[float]) -> Estimate | None:
        """Returns the percentile interval of the mean of `values`, None without values.

        Efron, Tibshirani: An Introduction to the Bootstrap, 1993, chapter 13.
        """
        if not values:
            return None
        n = len(values)
        value = values.__getitem__
        means = sorted(fsum(map(value, sample)) / n for sample in self._samples(n))
        # Of 40 equal parts the first and the last are left out: 95%.
        low, *_, high = quantiles(means, n=40, method="inclusive")
        return Estimate(fsum(values) / n, low, high, n)

    def _samples(self, n: int) -> list[list[int]]:
        if n not in self._by_size:
            generator = Random(self._seed + n)  # noqa: S311 - statistics
            self._by_size[n] = [generator.choices(range(n), k=n) for _ in range(self._times)]
        return self._by_size[n]


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The means of `n` questions before and after, the interval of the change, and its p-value.

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
        """Returns a row of a table with the columns `CELLS`."""
        interval = f"{self.low:+.3f} … {self.high:+.3f}"
        means = f"{self.before:.3f}", f"{self.after:.3f}", f"{self.change:+.3f}"
        return (*means, interval, f"{self.p:.3f}", str(self.higher), str(self.lower))


def mean_difference(before: Sequence[float], after: Sequence[float], resamples: Resamples) -> MeanDifference | None:
    """Compares the values of the same questions before and after; returns None without questions."""
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
        p=p_value(changes),
        higher=sum(change > 0 for change in changes),
        lower=sum(change < 0 for change in changes),
        n=n,
    )


def p_value(changes: Sequence[float]) -> float:
    """Returns the two-sided p-value of the mean change, by a randomization test over the signs of the changes.

    Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval evaluation,
    CIKM 2007.
    """
    moved = [abs(change) for change in changes if change]
    # Equal sums may differ in the last bit.
    seen = abs(fsum(changes)) - 1e-12
    if len(moved) <= _EXACT:
        sums = [abs(fsum(map(float.__mul__, moved, signs))) for signs in product((1.0, -1.0), repeat=len(moved))]
        return sum(total >= seen for total in sums) / len(sums)
    generator = Random(SEED)  # noqa: S311 - statistics
    whole = fsum(moved)
    far = sum(abs(2 * fsum(value for value in moved if generator.random() < 0.5) - whole) >= seen for _ in range(FLIPS))
    # The observed signs count too, so p is never 0.
    return (far + 1) / (FLIPS + 1)
