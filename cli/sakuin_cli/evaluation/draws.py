"""Numbers drawn by a seed: the same on every machine and in every version of Python."""

from collections.abc import Iterator

_WORD = (1 << 64) - 1


def draws(seed: int) -> Iterator[int]:
    """64-bit numbers without end: SplitMix64.

    Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    state = seed & _WORD
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)
