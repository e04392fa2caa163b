"""How many searches a key has left: shared by all workers, asked for in blocks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sakuin.errors import OverLimit, SakuinError
from sakuin.ports.allowances import Allowances, Granted

_MINUTE = 60.0
# Who asks rarely never costs a call: a worker lends each key a hundredth of its minute.
_LENT = 100
_BLOCK = 30
# While nobody can say what is left, nobody is locked out, and not each search waits to hear so.
_AWAY_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Purse:
    """What one worker has of one key's minute."""

    left: int
    until: float
    empty: bool = False


@dataclass(slots=True)
class AllowSearches:
    """Counts a worker's searches by key. `per_minute` 0 is no limit.

    Over all workers a key gets `per_minute` searches in a minute and what the workers lent it: one in a hundred each.
    """

    allowances: Allowances
    per_minute: int
    clock: Callable[[], float]
    _purses: dict[str, _Purse] = field(default_factory=dict)

    def __call__(self, key_hash: str, searches: int) -> None:
        """Takes so many of the key's searches, all or none; `OverLimit` says when there are more."""
        if not self.per_minute or not searches:
            return
        purse = self._purse(key_hash)
        while purse.left < searches and not purse.empty:
            self._fill(purse, key_hash, max(searches - purse.left, self.per_minute // _BLOCK, 1))
        if purse.left < searches:
            raise OverLimit(
                f"This key has {self.per_minute:,} searches a minute (QueriesPerMinute), and they are used up",
                retry_after=max(1.0, purse.until - self.clock()),
            )
        purse.left -= searches

    def _purse(self, key_hash: str) -> _Purse:
        now = self.clock()
        purse = self._purses.get(key_hash)
        if purse is None or purse.until <= now:
            # Keys that are not used any more must not pile up.
            self._purses = {key: kept for key, kept in self._purses.items() if kept.until > now}
            purse = self._purses[key_hash] = _Purse(self.per_minute // _LENT, now + _MINUTE)
        return purse

    def _fill(self, purse: _Purse, key_hash: str, wanted: int) -> None:
        try:
            granted = self.allowances.take(key_hash, wanted=wanted, per_minute=self.per_minute)
        except SakuinError:
            logger.warning("nobody could say what a key has left", exc_info=True)
            granted = Granted(max(wanted, self.per_minute), _AWAY_SECONDS)
        purse.left += granted.searches
        purse.until = self.clock() + granted.seconds
        purse.empty = granted.searches == 0
