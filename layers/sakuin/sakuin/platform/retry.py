"""What happens to a message whose work failed: its queue delivers it again, it waits, or it becomes a dead letter."""

from dataclasses import dataclass

from sakuin.errors import CircuitOpen, OutOfTime, OverBudget, Refused, SakuinError, Unavailable

# As the redrive policy of every queue in the template.
MAX_RECEIVES = 5
# Nobody waits longer for a vendor without asking it: its Retry-After may be a mistake.
LONGEST_PAUSE = 900.0

# A short failure costs seconds; an outage of minutes costs no message.
_RETRY_SECONDS = (5, 30, 180, 720)
_DAY = 86_400
# Work that has waited for longer than an outage lasts has another problem.
_LONGEST_OUTAGE = 2 * _DAY
# The operator may be away while a key or an account is refused.
_LONGEST_REFUSAL = 20 * _DAY


@dataclass(frozen=True, slots=True)
class Retry:
    """Its queue delivers it again after `seconds`. `vendor` is the outside system to blame, if one is."""

    seconds: float
    reason: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """It leaves its queue and waits: for `vendor`, or, with None, for `seconds`.

    Work that has been in trouble for more than `longest` seconds (None: no limit) is not deferred any more.
    """

    seconds: float
    reason: str
    vendor: str | None = None
    longest: float | None = _LONGEST_OUTAGE


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """It failed for the last time; its queue moves it to the dead letters."""

    reason: str


RetryDecision = Retry | Defer | DeadLetter


def decide_retry(error: Exception, *, receives: int, now: float) -> RetryDecision:
    """The decision about a message that failed with `error` when it was delivered for the `receives`th time.

    `now` is in seconds since 1970. Work over the day's budget waits for the next day (UTC), work whose worker ran out
    of time for the next minute. Where a vendor is away the message waits before its deliveries are used up, and at once
    if the vendor is not asked at all or refuses everything.
    """
    reason = reason_of(error)
    if isinstance(error, OverBudget):
        return Defer(_DAY - now % _DAY, reason, longest=None)
    if isinstance(error, OutOfTime):
        return Defer(0.0, reason)
    if isinstance(error, Unavailable) and _is_outage(error, receives):
        return _defer(error, reason)
    return retry_or_dead_letter(error, receives=receives)


def retry_or_dead_letter(error: Exception, *, receives: int) -> Retry | DeadLetter:
    """The decision about a message that may not wait."""
    reason = reason_of(error)
    if receives >= MAX_RECEIVES:
        return DeadLetter(reason)
    vendor = error.vendor if isinstance(error, Unavailable) else None
    return Retry(max(_RETRY_SECONDS[receives - 1], _retry_after(error)), reason, vendor)


def reason_of(error: Exception) -> str:
    """What people may read of an error. The message of a foreign error may hold secrets."""
    if isinstance(error, SakuinError) and str(error):
        return str(error).removesuffix(".")
    return "An unexpected error happened; see the log"


def _is_outage(error: Unavailable, receives: int) -> bool:
    if isinstance(error, Refused | CircuitOpen):
        return True
    return error.vendor is not None and receives >= MAX_RECEIVES - 1


def _defer(error: Unavailable, reason: str) -> Defer:
    if error.namespace is not None:
        # One busy namespace says nothing about the vendor.
        return Defer(max(_retry_after(error), 60.0), reason)
    vendor = error.vendor or "a vendor"
    if isinstance(error, Refused):
        said = f"{reason}; this waits for {vendor} and continues by itself once that is fixed"
        return Defer(_retry_after(error), said, vendor, longest=_LONGEST_REFUSAL)
    return Defer(_retry_after(error), f"{reason}; this waits for {vendor} and continues by itself", vendor)


def _retry_after(error: Exception) -> float:
    wanted = error.retry_after if isinstance(error, Unavailable) else None
    return min(wanted or 0.0, LONGEST_PAUSE)
