"""Calls to vendors: retries with a budget, circuits, and the `Retry-After` of an answer."""

import math
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol, TypeVar

from sakuin.errors import CircuitOpen, OutOfTime, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.retry import LONGEST_PAUSE
from sakuin.texts.catalogue import coded

T = TypeVar("T")
Change = Literal["opened", "closed", "not called", "refused"]

# Seconds that one background call may take, connection and answer.
LONGEST_CALL = 35.0
# Seconds that a worker needs after the answer of a vendor, or its failure.
TO_FINISH = 10.0
# Each failure is counted after its retries.
_FAILURES_TO_OPEN = 3
_OPEN_SECONDS = 30.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds to wait that an answer names, as a number or a date (RFC 9110, 10.2.3); None without one.

    A date in the past gives 0. `headers` must ignore case.
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


class Ask(Protocol):
    """Makes a call to a vendor; the call raises `Unavailable` where another attempt may succeed."""

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
        """Returns what `call` returns. `namespace` is the called part of the vendor, if it has parts."""


@dataclass(slots=True)
class RetryBudget:
    """The retries of one worker for one vendor: each call adds a fifth of a retry, up to ten.

    In an outage the number of calls grows by a fifth. With unlimited retries it would grow by a multiple, which
    prolongs an overload.
    """

    maximum: float = 10.0
    added_per_call: float = 0.2
    left: float = 10.0

    def add(self) -> None:
        """Adds the share of one call."""
        self.left = min(self.left + self.added_per_call, self.maximum)

    def take(self) -> bool:
        """Takes one retry; False if none is left."""
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Retries:
    """An `Ask` that makes at most `attempts` calls, within its budget, and starts none after `max_seconds`.

    Each pause is a random part of a doubling interval ("full jitter"), or the vendor's `Retry-After`. If that is longer
    than `max_pause` seconds, the error is raised at once. A call that may take `longest_call` seconds is repeated only
    if the worker has that many `seconds_left`, and `to_finish` more.
    """

    attempts: int
    max_seconds: float
    max_pause: float
    first_pause: float = 0.5
    budget: RetryBudget = field(default_factory=RetryBudget)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    seconds_left: Callable[[], float] = lambda: math.inf
    longest_call: float = 0.0
    to_finish: float = TO_FINISH
    max_wait: float = 0.0

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
        self.budget.add()
        started = self.clock()
        attempt = 0
        while True:
            try:
                return call()
            except (CircuitOpen, Refused):
                raise
            except RateLimited as error:
                pause = max(error.seconds, self.first_pause)
                if self.clock() - started + pause > self.max_wait or not self.has_time(pause):
                    raise
            except Unavailable as error:
                attempt += 1
                next_pause = self.pause(attempt, started, wanted=error.retry_after)
                if next_pause is None:
                    raise
                pause = next_pause
            self.sleep(pause)

    def pause(self, attempt: int, started: float, *, wanted: float | None) -> float | None:
        """Returns the seconds until the next call, None if there is none. `wanted` is the vendor's `Retry-After`."""
        pause = self.jitter() * min(self.first_pause * 2**attempt, self.max_pause) if wanted is None else wanted
        if attempt >= self.attempts or pause > self.max_pause or self.clock() - started + pause > self.max_seconds:
            return None
        return pause if self.has_time(pause) and self.budget.take() else None

    def has_time(self, pause: float = 0.0) -> bool:
        """Returns whether the worker has enough time for a call after a pause."""
        return self.seconds_left() >= pause + self.longest_call + self.to_finish


def background(
    *,
    attempts: int = 4,
    seconds_left: Callable[[], float] = lambda: math.inf,
    longest_call: float = LONGEST_CALL,
    to_finish: float = TO_FINISH,
    max_wait: float = 10.0,
) -> Retries:
    """Returns the retries of workers. Their functions run for a minute; a call that hangs is made once."""
    return Retries(
        attempts=attempts,
        max_seconds=40.0,
        max_pause=5.0,
        seconds_left=seconds_left,
        longest_call=longest_call,
        to_finish=to_finish,
        max_wait=max_wait,
    )


def interactive(*, attempts: int = 3) -> Retries:
    """Returns the retries of searches, whose callers wait."""
    return Retries(attempts=attempts, max_seconds=4.0, max_pause=1.0, first_pause=0.1, max_wait=1.0)


@dataclass(slots=True)
class Circuit:
    """The recent failures of a vendor, in one worker, for one kind of work.

    Three failures in a row open it for 30 seconds; then one call is made, and its success closes it. A `Retry-After` is
    respected. A failure of one namespace (429) counts for that namespace only. A failure is an `Unavailable` that is
    neither `Refused` nor `RateLimited`: then the vendor is available.
    """

    name: str
    vendor: str
    on_change: Callable[[str, Change], None] = lambda _name, _change: None
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    # By namespace, None for the whole vendor: the earliest time of the next call.
    not_before: dict[str | None, float] = field(default_factory=dict)
    rate_limit: RateLimited | None = None
    rate_limited_until: float = 0.0

    def check(self, namespace: str | None = None) -> None:
        """Raises `CircuitOpen`, or `RateLimited`, if no call may be made now."""
        if self.rate_limit is not None and (wait := self.rate_limited_until - self.clock()) > 0:
            self.on_change(self.name, "not called")
            raise RateLimited(self.rate_limit.what, vendor=self.vendor, retry_after=wait)
        until = max(self.not_before.get(None, 0.0), self.not_before.get(namespace, 0.0))
        left = until - self.clock()
        if left > 0:
            self.on_change(self.name, "not called")
            is_vendor = self.not_before.get(None, 0.0) >= until
            part = self.vendor if is_vendor else f"a namespace of {self.vendor}"
            raise CircuitOpen(
                coded("work.circuit", part=part, seconds=math.ceil(left)),
                vendor=self.vendor,
                retry_after=left,
                namespace=None if is_vendor else namespace,
            )

    def record_success(self, namespace: str | None = None) -> None:
        """Records that the vendor answered."""
        self.not_before.pop(namespace, None)
        self.not_before.pop(None, None)
        if self.failures >= _FAILURES_TO_OPEN:
            self.on_change(self.name, "closed")
        self.failures = 0

    def record_rate_limit(self, error: RateLimited) -> None:
        """Records that the vendor answered, and for how long it must not be called."""
        self.record_success()
        self.rate_limit, self.rate_limited_until = error, self.clock() + min(error.seconds, LONGEST_PAUSE)

    def record_failure(self, error: Unavailable) -> None:
        """Records that the vendor, or one of its namespaces, failed."""
        now = self.clock()
        pause = min(error.retry_after or 0.0, LONGEST_PAUSE)
        if error.namespace is not None:
            # Removes namespaces whose time is over: the dictionary must not grow without limit.
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
    """An `Ask` with retries and a circuit; `OutOfTime` if the worker has too little time for one call.

    `trace` gives what a call with its retries runs in, by the name of the circuit.
    """

    retries: Retries
    circuit: Circuit
    trace: Callable[[str], AbstractContextManager[object]] = nullcontext

    def __call__(self, call: Callable[[], T], *, namespace: str | None = None) -> T:
        if not self.retries.has_time():
            raise OutOfTime(coded("work.little_time"))
        self.circuit.check(namespace)
        try:
            with self.trace(self.circuit.name):
                answer = self.retries(call)
        except Refused:
            self.circuit.on_change(self.circuit.name, "refused")
            raise
        except RateLimited as error:
            self.circuit.record_rate_limit(error)
            raise
        except Unavailable as error:
            self.circuit.record_failure(error)
            raise
        except SakuinError:
            # A vendor that refuses one request is available.
            self.circuit.record_success(namespace)
            raise
        self.circuit.record_success(namespace)
        return answer
