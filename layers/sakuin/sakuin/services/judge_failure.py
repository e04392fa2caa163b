"""What becomes of a message that failed: its queue gives it out again, it is parked, or it is a dead letter."""

from sakuin.domain.work import LONGEST_WAIT, MAX_TRIES, Again, Dead, Parked
from sakuin.errors import CircuitOpen, OutOfTime, OverBudget, Refused, SakuinError, Unavailable

# A hiccup costs seconds, an outage of minutes no message.
RETRY_SECONDS = (5, 30, 180, 720)
# A vendor that has been away for long is not expected soon: half as long again, up to a quarter of an hour.
_FIRST_WAIT = 60.0
# Two days and more of such waits: then it is no outage, but this message.
_MOST_PARKS = 200
# Two weeks and more: a key may be wrong for as long as its keeper is away.
_MOST_REFUSALS = 2_000
_DAY = 86_400


def judged(
    error: Exception, *, tries: int, now: float, chance: float, parks: int = 0, waited: float = 0.0
) -> Again | Parked | Dead:
    """The verdict over a message that failed with `error` on its `tries`th try.

    `now`: seconds since 1970. `chance`: 0 to 1, so that not all come back at once. `parks`: how often it was parked
    before. `waited`: for how many seconds it has been in trouble. Work over the budget goes on with the next day (UTC),
    work whose worker had no more time with the next minute: neither costs a try.
    Where a vendor is away the message is parked before its tries are used up, and at once where nobody asks that
    vendor for a while, or the vendor lets nothing through; what has been parked for days, or weeks, is not.
    """
    reason = sentence_of(error)
    if isinstance(error, OverBudget):
        return Parked(_DAY - now % _DAY, reason)
    if isinstance(error, OutOfTime) and parks < _MOST_PARKS:
        return Parked(0.0, reason)
    retry_after = min((error.retry_after if isinstance(error, Unavailable) else None) or 0.0, LONGEST_WAIT)
    if isinstance(error, Unavailable) and _is_parked(error, tries, parks):
        vendor = error.vendor or "a vendor"
        once = " once that is mended" if isinstance(error, Refused) else ""
        wait = max(_wait(waited, chance), retry_after)
        return Parked(wait, f"{reason}; this waits for {vendor} and goes on by itself{once}", vendor)
    if tries >= MAX_TRIES:
        return Dead(reason)
    wait = max(RETRY_SECONDS[tries - 1], retry_after)
    return Again(wait, reason, error.vendor if isinstance(error, Unavailable) else None)


def _is_parked(error: Unavailable, tries: int, parks: int) -> bool:
    if isinstance(error, Refused):
        return parks < _MOST_REFUSALS
    is_an_outage = isinstance(error, CircuitOpen) or (error.vendor is not None and tries >= MAX_TRIES - 1)
    return is_an_outage and parks < _MOST_PARKS


def sentence_of(error: Exception) -> str:
    """What people may read of an error: another's message may hold what nobody should see."""
    if isinstance(error, SakuinError) and str(error):
        return str(error).removesuffix(".")
    return "Something unexpected went wrong; the log has it"


def _wait(waited: float, chance: float) -> float:
    """Grows with the outage; half of it is chance."""
    longest = min(max(_FIRST_WAIT, waited / 2), LONGEST_WAIT)
    return longest * (0.5 + chance / 2)
