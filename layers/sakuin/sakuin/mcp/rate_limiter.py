"""Limits the searches of a key or an endpoint in a minute."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sakuin.errors import OverLimit, SakuinError
from sakuin.platform.supabase.client import Client, call


@dataclass(frozen=True, slots=True)
class Grant:
    """How many searches were granted, and the seconds until the holder's minute ends."""

    searches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """The searches that each holder has left in this minute; a minute is the same one for everybody."""

    client: Client

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Grant:
        """Grants some of the holder's `per_minute` searches: `wanted` or less, and never more than are left.

        Of what is left a quarter is given at a time, so that little is stranded with workers that do not use it.
        """
        asked = {"p_principal": holder, "p_wanted": wanted, "p_per_minute": per_minute}
        row = call(self.client, "consume_quota", asked)
        return Grant(int(row["searches"]), float(row["seconds"]))


_MINUTE = 60.0

# Who asks rarely never costs a call: a worker lends each holder a hundredth of his minute.
_LENT = 100

_BLOCK = 30

# While nobody can say what is left, nobody is locked out, and not each search waits to hear so.
_AWAY_SECONDS = 10.0


logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Bucket:
    """What one worker has of one holder's minute."""

    left: int
    until: float
    empty: bool = False


@dataclass(slots=True)
class RateLimiter:
    """Counts a worker's searches by holder. `per_minute` 0 is no limit.

    Over all workers each gets `per_minute` searches in a minute and what the workers lent him: one in a hundred each.
    """

    allowances: Quotas
    per_minute: int
    clock: Callable[[], float]
    _purses: dict[str, _Bucket] = field(default_factory=dict)

    def __call__(self, holder: str, searches: int) -> None:
        """Takes so many of the holder's searches, all or none; `OverLimit` says when there are more."""
        if not self.per_minute or not searches:
            return
        purse = self._purse(holder)
        while purse.left < searches and not purse.empty:
            self._fill(purse, holder, max(searches - purse.left, self.per_minute // _BLOCK, 1))
        if purse.left < searches:
            raise OverLimit(
                f"There are {self.per_minute:,} searches a minute (queries_per_minute), and they are used up",
                retry_after=max(1.0, purse.until - self.clock()),
            )
        purse.left -= searches

    def _purse(self, holder: str) -> _Bucket:
        now = self.clock()
        purse = self._purses.get(holder)
        if purse is None or purse.until <= now:
            # Who does not ask any more must not pile up.
            self._purses = {each: kept for each, kept in self._purses.items() if kept.until > now}
            purse = self._purses[holder] = _Bucket(self.per_minute // _LENT, now + _MINUTE)
        return purse

    def _fill(self, purse: _Bucket, holder: str, wanted: int) -> None:
        try:
            granted = self.allowances.take(holder, wanted=wanted, per_minute=self.per_minute)
        except SakuinError:
            logger.warning("nobody could say how many searches are left", exc_info=True)
            granted = Grant(max(wanted, self.per_minute), _AWAY_SECONDS)
        purse.left += granted.searches
        purse.until = self.clock() + granted.seconds
        purse.empty = granted.searches == 0
