"""How a vendor is asked: again where that may help, and no more often than an outage bears."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, TypeVar

from sakuin.errors import CircuitOpen, OutOfTime, Refused, Unavailable

T = TypeVar("T")

# Connecting and the answer, where somebody is patient.
LONGEST_CALL = 35.0
# What is written once a vendor has answered, or failed to.
_TO_FINISH = 10.0


class Ask(Protocol):
    """Makes a call to a vendor; the call raises `Unavailable` where the same again may work."""

    def __call__(self, call: Callable[[], T]) -> T: ...


@dataclass(slots=True)
class RetryBudget:
    """The retries of one worker towards one vendor: a call earns a fifth of one, and at most ten are saved up.

    While all is well that is more than enough. In an outage calls grow by a fifth, not by a multiple, which is what
    turns an overload into a longer one.
    """

    most: float = 10.0
    earned_a_call: float = 0.2
    left: float = 10.0

    def earn(self) -> None:
        """A call is made."""
        self.left = min(self.left + self.earned_a_call, self.most)

    def spend(self) -> bool:
        """Whether a retry may be made, which is taken off."""
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Retries:
    """An `Ask` that asks `tries` times at most, within its budget, and not again once `patience` seconds are over.

    Each pause is a random part of one that doubles ("full jitter"), or what the vendor asks for. A vendor that wants
    more than `longest_pause` seconds is not waited for: its error says when, and the work comes back then.
    A call that may take `longest_call` seconds is made once more only where that many are `left` to this worker.
    """

    tries: int
    patience: float
    longest_pause: float
    first_pause: float = 0.5
    budget: RetryBudget = field(default_factory=RetryBudget)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    share: Callable[[], float] = random.random
    left: Callable[[], float] = lambda: math.inf
    longest_call: float = 0.0

    def in_time(self, call: Callable[[], T]) -> T:
        """An `Ask` for outside: `OutOfTime` where even the first call might end this worker."""
        if not self._is_time(0.0):
            raise OutOfTime("Its worker's time was nearly over; this goes on by itself")
        return call()

    def __call__(self, call: Callable[[], T]) -> T:
        self.budget.earn()
        started = self.clock()
        for tried in count(1):
            try:
                return call()
            except (CircuitOpen, Refused):
                raise
            except Unavailable as error:
                pause = self.pause(tried, started, wanted=error.retry_after)
                if pause is None:
                    raise
            self.sleep(pause)
        raise AssertionError("counting ends never")

    def pause(self, tried: int, started: float, *, wanted: float | None) -> float | None:
        """The seconds to wait before it is asked again, `wanted` by the vendor or not; None: it is not asked again."""
        pause = self.share() * min(self.first_pause * 2**tried, self.longest_pause) if wanted is None else wanted
        if tried >= self.tries or pause > self.longest_pause or self.clock() - started + pause > self.patience:
            return None
        return pause if self._is_time(pause) and self.budget.spend() else None

    def _is_time(self, pause: float) -> bool:
        return self.left() >= pause + self.longest_call + _TO_FINISH


def patient(
    *, tries: int = 4, left: Callable[[], float] = lambda: math.inf, longest_call: float = LONGEST_CALL
) -> Retries:
    """For workers: a queue waits, the function for two minutes; a call that hangs for 30 s is made twice."""
    return Retries(tries=tries, patience=60.0, longest_pause=5.0, left=left, longest_call=longest_call)


def hurried(*, tries: int = 3) -> Retries:
    """For searches: somebody waits."""
    return Retries(tries=tries, patience=4.0, longest_pause=1.0, first_pause=0.1)


@dataclass(frozen=True, slots=True)
class Inside:
    """An `Ask` that makes its calls by `inner`, and the whole of that by `outer`."""

    outer: Ask
    inner: Ask

    def __call__(self, call: Callable[[], T]) -> T:
        return self.outer(lambda: self.inner(call))
