"""Bootstrap confidence intervals of means over questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum

TIMES = 1000
CONFIDENCE = 0.95
SEED = 20261122
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` questions with its 95% confidence interval."""

    mean: float
    low: float
    high: float
    n: int


class Resamples:
    """Bootstrap samples of questions, the same for every measure and every variant.

    Shared samples are faster, and make the figures of a group comparable.
    """

    def __init__(self, *, times: int = TIMES, seed: int = SEED) -> None:
        self._times = times
        self._seed = seed
        self._by_size: dict[int, list[tuple[int, ...]]] = {}

    def estimate(self, values: Sequence[float]) -> Estimate | None:
        """Returns the mean of `values` with its percentile interval; None without values.

        Efron, Tibshirani: An Introduction to the Bootstrap, 1993, chapter 13.
        """
        if not values:
            return None
        n = len(values)
        take = values.__getitem__
        means = sorted(fsum(map(take, sample)) / n for sample in self._samples(n))
        low, high = (_quantile(means, share) for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        return Estimate(fsum(values) / n, low, high, n)

    def _samples(self, n: int) -> list[tuple[int, ...]]:
        if n not in self._by_size:
            numbers = draws(self._seed + n)
            self._by_size[n] = [tuple(_places(numbers, n)) for _ in range(self._times)]
        return self._by_size[n]


def _places(numbers: Iterator[int], n: int) -> Iterator[int]:
    # The modulo bias is less than 10^-16.
    return (number % n for number in islice(numbers, n))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Returns the quantile, interpolated linearly between two values."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def draws(seed: int) -> Iterator[int]:
    """Yields pseudorandom 64-bit numbers (SplitMix64), without end.

    Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    state = seed & _WORD
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)
