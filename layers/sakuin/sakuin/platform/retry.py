"""The decision about a message that is not done: it waits, or becomes a dead letter."""

import random
from dataclasses import dataclass
from typing import Literal, get_args

from sakuin.errors import OutOfTime, OverBudget, RateLimited, Refused, SakuinError, Unavailable
from sakuin.platform.supabase.forms import Time
from sakuin.texts.catalogue import Reason, coded

# The queues of the template. Each has a queue of dead letters.
QueueName = Literal["material", "tool", "embed"]
QUEUES: tuple[QueueName, ...] = get_args(QueueName)
# A message with so many failures, or whose workers died so often, is a dead letter.
MAX_FAILURES = 5
# Equal to `maxReceiveCount` of every queue in the template: SQS also counts deliveries that Lambda could not start.
MAX_RECEIVES = 1000
# A vendor is called again after at most so many seconds: its Retry-After may be wrong.
LONGEST_PAUSE = 60.0
# Work over the budget of a day looks again so often.
BUDGET_PAUSE = 600.0

_SHORTEST_PAUSE = 5.0
_RETRY_SECONDS = (5, 30, 60, 60)
_DAY = 86_400
# Work that waits for longer has another problem than an outage.
_LONGEST_OUTAGE = 2 * _DAY
# The operator may need days to correct a key or an account.
_LONGEST_REFUSAL = 20 * _DAY


class WorkersDied(SakuinError):
    """The workers of a message ended without an answer, so often that nobody tries again."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A copy of the message is delivered after `seconds`. `vendor` is the outside system that it waits for.

    `is_failure`: the work failed, which happens at most five times.
    """

    seconds: float
    reason: str
    vendor: str | None = None
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work that waits. `until` is when its message is delivered, `vendor` the outside system that it waits for."""

    kind: str
    subject: str
    since: Time
    reason: str
    vendor: str | None
    until: Time | None
    reason_code: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The worker sends the message to the dead letters."""

    reason: str


def decide_retry(error: Exception, *, failures: int, waited: float, part: float = 1.0) -> Wait | DeadLetter:
    """Returns the decision about a message that failed with `error`, after `failures` before.

    `waited` are the seconds since it was first sent. In an outage of a vendor the pauses grow from 5 seconds to a
    minute; `part` of each is waited, so that not all messages come at once. Work over the day's budget waits for the
    next day, work whose worker had too little time does not wait. After two days of an outage, or twenty of a refused
    key, the error counts as a failure.
    """
    reason = reason_of(error)
    if isinstance(error, WorkersDied):
        return DeadLetter(reason)
    if isinstance(error, OverBudget):
        return Wait(BUDGET_PAUSE, reason)
    if waited <= (_LONGEST_REFUSAL if isinstance(error, Refused) else _LONGEST_OUTAGE):
        if isinstance(error, OutOfTime):
            return Wait(0.0, reason)
        if isinstance(error, RateLimited):
            return Wait(_retry_after(error), reason, error.vendor)
        if isinstance(error, Unavailable) and error.vendor is not None:
            growing = min(max(_SHORTEST_PAUSE, waited / 2), LONGEST_PAUSE) * part
            return Wait(max(growing, _retry_after(error)), _said(error, error.vendor, reason), _vendor(error))
    if failures + 1 >= MAX_FAILURES:
        return DeadLetter(reason)
    return Wait(_RETRY_SECONDS[failures], reason, is_failure=True)


def jitter() -> float:
    """Returns the part of a pause that a message waits."""
    return 0.5 + random.random() / 2  # noqa: S311 - no secret


def reason_of(error: Exception) -> str:
    """Returns the reason to show. The message of an error that is not ours may contain secrets."""
    if isinstance(error, SakuinError) and str(error):
        reason = str(error)
        return reason if isinstance(reason, Reason) else reason.removesuffix(".")
    return coded("work.unexpected")


def _said(error: Unavailable, vendor: str, reason: str) -> str:
    if error.namespace is not None:
        return reason
    code = "work.after_correction" if isinstance(error, Refused) else "work.continues"
    return coded(code, reason=reason, vendor=vendor)


def _vendor(error: Unavailable) -> str | None:
    """Returns the vendor that fails. A busy namespace is no outage of it."""
    return error.vendor if error.namespace is None else None


def _retry_after(error: Unavailable) -> float:
    return min(error.retry_after or 0.0, LONGEST_PAUSE)
