"""How the cost of an input grows with it: the same work on n and on four times n, side by side."""

import contextlib
import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

from sakuin.errors import SakuinError

from tests.effort import EFFORT

T = TypeVar("T")

# Four times the input costs four times as much, sixteen times as much where the square is taken. Between the two lies
# what caches, growing lists and a busy machine make of it.
TOO_MUCH = 9.0
# Below that the clock says more about the machine than about the input.
SHORTEST = 0.005
# What costs that much is measured well enough.
LONG = 0.02


def grows_with_its_input(work: Callable[[T], object], make: Callable[[int], T], *, size: int) -> bool:
    """Whether `work` on `make(4 * size)` costs what four pieces cost, and not what sixteen do.

    `make test` takes an eighth of `size` if that can be measured, otherwise half of it. Counted is this process's own
    time, so that other programs on the machine do not matter.
    """
    if EFFORT == 1:
        size //= 8 if _cost(work, make(size // 8)) > LONG else 2
    small, large = make(size), make(4 * size)
    for _ in range(3):
        once, four_times = _cost(work, small), _cost(work, large)
        if four_times < max(once, SHORTEST) * TOO_MUCH:
            return True
    return False


def peak_bytes(work: Callable[[], object]) -> int:
    """How much memory Python took at most while `work` ran; refusals are results too."""
    tracemalloc.start()
    with contextlib.suppress(SakuinError):
        work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _cost(work: Callable[[T], object], given: T) -> float:
    # What earlier tests left is not to be looked through here.
    gc.disable()
    started = time.process_time()
    with contextlib.suppress(SakuinError):
        work(given)
    seconds = time.process_time() - started
    gc.enable()
    return seconds
