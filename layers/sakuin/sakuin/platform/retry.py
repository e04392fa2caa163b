"""The decision about a message that is not done: retry, send again, defer or dead letter."""

from dataclasses import dataclass
from typing import Literal, get_args

from sakuin.errors import CircuitOpen, OutOfTime, OverBudget, RateLimited, Refused, SakuinError, Unavailable
from sakuin.texts.catalogue import coded

# The queues of the template. Each has a queue of dead letters.
QueueName = Literal["material", "tool", "embed", "webhook"]
QUEUES: tuple[QueueName, ...] = get_args(QueueName)
# A message that fails at this delivery is a dead letter.
MAX_FAILURES = 5
# Equal to `maxReceiveCount` of every queue in the template, for messages whose worker dies, or that Lambda cannot give
# to a worker: those deliveries count, too.
MAX_RECEIVES = 10
# A vendor is called again after at most so many seconds: its Retry-After may be wrong.
LONGEST_PAUSE = 900.0

# A short failure costs seconds; an outage of minutes costs no message.
_RETRY_SECONDS = (5, 30, 180, 720)
_DAY = 86_400
# Work that waits for longer has another problem than an outage.
_LONGEST_OUTAGE = 2 * _DAY
# The operator may need days to correct a key or an account.
_LONGEST_REFUSAL = 20 * _DAY


@dataclass(frozen=True, slots=True)
class Retry:
    """The queue delivers the message again after `seconds`. `vendor` is the outside system that failed, if one did."""

    seconds: float
    reason: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """The message leaves its queue, and the work waits for `vendor`, or, with None, for `seconds`.

    Work that has been unfinished for more than `longest` seconds (None: no limit) is not deferred again.
    """

    seconds: float
    reason: str
    vendor: str | None = None
    longest: float | None = _LONGEST_OUTAGE


@dataclass(frozen=True, slots=True)
class SendAgain:
    """A copy of the message is sent to its queue, which delivers it after `seconds`: nothing has failed.

    Work that has been unfinished for more than `longest` seconds is not sent again.
    """

    seconds: float
    reason: str
    longest: float = _LONGEST_OUTAGE


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The worker sends the message to the dead letters."""

    reason: str


RetryDecision = Retry | SendAgain | Defer | DeadLetter


def decide_retry(error: Exception, *, receives: int, now: float) -> RetryDecision:
    """Returns the decision about a message that failed with `error` at delivery number `receives`.

    `now` is in seconds since 1970. Work over the day's budget waits for the next day (UTC). Work whose worker had too
    little time is sent again at once, work that a vendor asks to wait after the time that it names. In an outage of a
    vendor the message is deferred before its last delivery, or at once if the circuit is open or the vendor refuses
    everything.
    """
    reason = reason_of(error)
    if isinstance(error, OverBudget):
        return Defer(_DAY - now % _DAY, reason, longest=None)
    if isinstance(error, OutOfTime | RateLimited):
        return SendAgain(_retry_after(error), reason)
    if isinstance(error, Unavailable) and _is_outage(error, receives):
        return _defer(error, reason)
    return retry_or_dead_letter(error, receives=receives)


def retry_or_dead_letter(error: Exception, *, receives: int) -> Retry | DeadLetter:
    """Returns the decision about a message that may not be deferred."""
    reason = reason_of(error)
    if receives >= MAX_FAILURES:
        return DeadLetter(reason)
    vendor = error.vendor if isinstance(error, Unavailable) else None
    return Retry(max(_RETRY_SECONDS[receives - 1], _retry_after(error)), reason, vendor)


def reason_of(error: Exception) -> str:
    """Returns the reason to show. The message of an error that is not ours may contain secrets."""
    if isinstance(error, SakuinError) and str(error):
        return str(error).removesuffix(".")
    return coded("work.unexpected")


def _is_outage(error: Unavailable, receives: int) -> bool:
    if isinstance(error, Refused | CircuitOpen):
        return True
    return error.vendor is not None and receives >= MAX_FAILURES - 1


def _defer(error: Unavailable, reason: str) -> Defer:
    if error.namespace is not None:
        # A busy namespace is no outage of the vendor.
        return Defer(max(_retry_after(error), 60.0), reason)
    vendor = error.vendor or "a vendor"
    if isinstance(error, Refused):
        said = coded("work.after_correction", reason=reason, vendor=vendor)
        return Defer(_retry_after(error), said, vendor, longest=_LONGEST_REFUSAL)
    return Defer(_retry_after(error), coded("work.continues", reason=reason, vendor=vendor), vendor)


def _retry_after(error: Exception) -> float:
    seconds = error.retry_after if isinstance(error, Unavailable) else None
    return min(seconds or 0.0, LONGEST_PAUSE)
