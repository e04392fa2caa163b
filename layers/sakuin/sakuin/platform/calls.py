"""When a vendor wants to be asked again."""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Literal, Protocol, TypeVar

from sakuin.errors import CircuitOpen, OutOfTime, Refused, SakuinError, Unavailable
from sakuin.platform.retry import LONGEST_PAUSE


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks for, as a number or as a date (RFC 9110, 10.2.3); None if it does not.

    What is past is 0. Header names are looked up as the vendors' clients do, without regard to case.
    """
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(moment - time.time(), 0.0)


T = TypeVar("T")

Change = Literal["opened", "closed", "not called", "refused"]


# Connecting and the answer of one background call, in seconds.
LONGEST_CALL = 35.0

# What a worker still writes once a vendor has answered, or failed to.
_TO_FINISH = 10.0

# Each of them is what is left after retries.
_FAILURES_TO_OPEN = 3

_OPEN_SECONDS = 30.0


class Ask(Protocol):
    """Makes a call to a vendor; the call raises `Unavailable` where the same again may work."""

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
        """Returns what `call` returns. `namespace` is the part of the vendor that is asked, if it has parts."""


@dataclass(slots=True)
class RetryBudget:
    """The retries of one worker towards one vendor: a call earns a fifth of one, at most ten are saved up.

    In an outage calls grow by a fifth, not by a multiple, which is what turns an overload into a longer one.
    """

    most: float = 10.0
    earned_a_call: float = 0.2
    left: float = 10.0

    def earn(self) -> None:
        """Adds what a call earns."""
        self.left = min(self.left + self.earned_a_call, self.most)

    def spend(self) -> bool:
        """Takes off one retry; False if none is left."""
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Retries:
    """An `Ask` that calls `tries` times at most, within its budget, and not again after `patience` seconds.

    Each pause is a random part of one that doubles ("full jitter"), or what the vendor asks for. A vendor that asks for
    more than `longest_pause` seconds is not waited for: its error says when, and the work comes back then.
    A call that may take `longest_call` seconds is repeated only where the worker has that many `seconds_left`.
    """

    tries: int
    patience: float
    longest_pause: float
    first_pause: float = 0.5
    budget: RetryBudget = field(default_factory=RetryBudget)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    share: Callable[[], float] = random.random
    seconds_left: Callable[[], float] = lambda: math.inf
    longest_call: float = 0.0

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
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
        raise AssertionError("counting never ends")

    def pause(self, tried: int, started: float, *, wanted: float | None) -> float | None:
        """The seconds until the next call, `wanted` by the vendor or not; None if there is no next call."""
        pause = self.share() * min(self.first_pause * 2**tried, self.longest_pause) if wanted is None else wanted
        if tried >= self.tries or pause > self.longest_pause or self.clock() - started + pause > self.patience:
            return None
        return pause if self.has_time(pause) and self.budget.spend() else None

    def has_time(self, pause: float = 0.0) -> bool:
        """Whether the worker has the time for a call after a pause."""
        return self.seconds_left() >= pause + self.longest_call + _TO_FINISH


def background(
    *, tries: int = 4, seconds_left: Callable[[], float] = lambda: math.inf, longest_call: float = LONGEST_CALL
) -> Retries:
    """For workers: a queue waits, the function for two minutes; a call that hangs for 30 s is made twice."""
    return Retries(tries=tries, patience=60.0, longest_pause=5.0, seconds_left=seconds_left, longest_call=longest_call)


def interactive(*, tries: int = 3) -> Retries:
    """For searches: somebody waits."""
    return Retries(tries=tries, patience=4.0, longest_pause=1.0, first_pause=0.1)


@dataclass(slots=True)
class Circuit:
    """What one worker knows of a vendor that fails, for one kind of work.

    Three failures in a row open it for 30 seconds; then one call is made, and its success closes it. A vendor that asks
    to wait is not called before. What one namespace answers (429) concerns that namespace alone. Only `Unavailable` is
    a failure, and of that not `Refused`: then the vendor is there, and says so.
    """

    name: str
    vendor: str
    on_change: Callable[[str, Change], None] = lambda _name, _change: None
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    # By namespace, None for the whole vendor: the moment before which no call is made.
    not_before: dict[str | None, float] = field(default_factory=dict)

    def check(self, namespace: str | None = None) -> None:
        """Raises `CircuitOpen` while no call is to be made."""
        until = max(self.not_before.get(None, 0.0), self.not_before.get(namespace, 0.0))
        left = until - self.clock()
        if left > 0:
            self.on_change(self.name, "not called")
            whose = self.vendor if self.not_before.get(None, 0.0) >= until else f"a namespace of {self.vendor}"
            raise CircuitOpen(
                f"{whose} keeps failing and is called again in {math.ceil(left)} seconds",
                vendor=self.vendor,
                retry_after=left,
                namespace=None if whose == self.vendor else namespace,
            )

    def record_success(self, namespace: str | None = None) -> None:
        """Records that the vendor answered."""
        self.not_before.pop(namespace, None)
        self.not_before.pop(None, None)
        if self.failures >= _FAILURES_TO_OPEN:
            self.on_change(self.name, "closed")
        self.failures = 0

    def record_failure(self, error: Unavailable) -> None:
        """Records that the vendor, or a namespace of it, failed."""
        now = self.clock()
        pause = min(error.retry_after or 0.0, LONGEST_PAUSE)
        if error.namespace is not None:
            # Namespaces that are hot no more must not pile up.
            self.not_before = {name: until for name, until in self.not_before.items() if until > now}
            self.not_before[error.namespace] = now + pause
            return
        self.failures += 1
        if self.failures >= _FAILURES_TO_OPEN:
            if self.failures == _FAILURES_TO_OPEN:
                self.on_change(self.name, "opened")
            pause = max(pause, _OPEN_SECONDS)
        if pause:
            self.not_before[None] = now + pause


@dataclass(frozen=True, slots=True)
class VendorCalls:
    """An `Ask` with retries inside a circuit; `OutOfTime` where even one call might end the worker."""

    retries: Retries
    circuit: Circuit

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
        if not self.retries.has_time():
            # This says nothing about the vendor.
            raise OutOfTime("Its worker's time was nearly over; this continues by itself")
        self.circuit.check(namespace)
        try:
            answer = self.retries(call)
        except Refused:
            self.circuit.on_change(self.circuit.name, "refused")
            raise
        except Unavailable as error:
            self.circuit.record_failure(error)
            raise
        except SakuinError:
            # A vendor that refuses a request is there.
            self.circuit.record_success(namespace)
            raise
        self.circuit.record_success(namespace)
        return answer
