"""A vendor that keeps failing is left alone for a while."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, TypeVar

from sakuin.domain.work import LONGEST_WAIT
from sakuin.errors import CircuitOpen, Refused, SakuinError, Unavailable

T = TypeVar("T")
# An answer, or the error that is one.
Outcome = tuple[Any, SakuinError | None]
# Makes a call and remembers how it went, or raises `CircuitOpen` without making it.
Guard = Callable[[Callable[[], Outcome]], Outcome]
Change = Literal["opened", "probed", "closed", "refused", "denied"]
# Hears of a circuit by its name.
Told = Callable[[str, Change], None]


class Circuit:
    """An `Ask` that raises `CircuitOpen` instead of calling while `guard` knows that the vendor fails.

    A worker whose own calls succeed asks no guard, nor has one made: it learns by its first failure. A vendor that
    asks this worker to wait is not called before, whatever others see. Only `Unavailable` is a failure, and of that not
    `Refused`: the vendor is there, and says so.
    """

    def __init__(
        self,
        name: str,
        vendor: str,
        guard: Callable[[], Guard],
        told: Told = lambda _name, _change: None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._vendor = vendor
        self._guard = guard
        self._told = told
        self._clock = clock
        self._is_proven = True
        self._not_before = 0.0

    def __call__(self, call: Callable[[], T]) -> T:
        now = self._clock()
        if now < self._not_before:
            self._told(self._name, "refused")
            left = self._not_before - now
            said = f"{self._vendor} wants to be asked again in {math.ceil(left)} seconds"
            raise CircuitOpen(said, vendor=self._vendor, retry_after=left)
        try:
            answer, error = self._outcome(call)
        except Unavailable as failure:
            self._failed(failure)
            raise
        self._is_proven = True
        if isinstance(error, Refused):
            self._told(self._name, "denied")
        if error is not None:
            raise error
        return answer  # type: ignore[no-any-return]  # it is the call's

    def _outcome(self, call: Callable[[], Any]) -> Outcome:
        if not self._is_proven:
            return self._guard()(lambda: _outcome_of(call))
        try:
            return _outcome_of(call)
        except Unavailable as failure:
            self._count(failure)
            raise

    def _count(self, failure: Unavailable) -> None:
        def failed() -> Outcome:
            raise failure

        # Whatever the guard knows, the caller gets the failure.
        with suppress(Unavailable):
            self._guard()(failed)

    def _failed(self, failure: Unavailable) -> None:
        self._is_proven = False
        if isinstance(failure, CircuitOpen):
            self._told(self._name, "refused")
        elif failure.retry_after is not None:
            self._not_before = self._clock() + min(failure.retry_after, LONGEST_WAIT)


def circuit_open(vendor: str, seconds: float) -> CircuitOpen:
    """The error that says when the vendor will be asked again."""
    return CircuitOpen(
        f"{vendor} keeps failing, and is asked again in {math.ceil(seconds)} seconds",
        vendor=vendor,
        retry_after=seconds,
    )


def _outcome_of(call: Callable[[], Any]) -> Outcome:
    try:
        return call(), None
    except SakuinError as error:
        if isinstance(error, Unavailable) and not isinstance(error, Refused):
            raise
        # A vendor that refuses a request is there.
        return None, error
