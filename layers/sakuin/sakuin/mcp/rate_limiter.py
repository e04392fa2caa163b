"""The rate limit of searches: how many a key or an endpoint may make in a minute."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sakuin.errors import OverLimit, SakuinError
from sakuin.platform.supabase.client import Client, call

_MINUTE = 60.0
# A worker grants a hundredth of the limit without a database call, so that rare callers never cause one.
_FREE_SHARE = 100
# A worker takes at least a thirtieth of the limit in one call.
_BLOCK_SHARE = 30
# While the quotas are unavailable, searches are allowed and the database is called again after so long.
_UNAVAILABLE_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Grant:
    """The number of granted searches, and the seconds until the minute ends."""

    searches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """The searches that each principal has left in this minute, for all workers, in Postgres."""

    client: Client

    def take(self, principal: str, *, wanted: int, per_minute: int) -> Grant:
        """Takes up to `wanted` of the principal's `per_minute` searches.

        A call grants at most a quarter of the rest: searches that one worker does not use are lost to the others.
        """
        arguments = {"p_principal": principal, "p_wanted": wanted, "p_per_minute": per_minute}
        row = call(self.client, "consume_quota", arguments)
        return Grant(int(row["searches"]), float(row["seconds"]))


@dataclass(slots=True)
class _Bucket:
    """The searches that a worker may still make for one principal in this minute."""

    left: int
    until: float
    empty: bool = False


@dataclass(slots=True)
class RateLimiter:
    """Limits the searches of each principal in one worker. `per_minute` 0 means no limit.

    `limit` is its name.

    Over all workers a principal has `per_minute` searches in a minute, and a hundredth of that for each worker.
    """

    quotas: Quotas
    per_minute: int
    clock: Callable[[], float]
    limit: str = "queries_per_minute"
    _buckets: dict[str, _Bucket] = field(default_factory=dict)

    def __call__(self, principal: str, searches: int) -> None:
        """Takes so many searches of the principal, all or none; `OverLimit` if too few are left."""
        if not self.per_minute or not searches:
            return
        bucket = self._bucket(principal)
        while bucket.left < searches and not bucket.empty:
            self._fill(bucket, principal, max(searches - bucket.left, self.per_minute // _BLOCK_SHARE, 1))
        if bucket.left < searches:
            raise OverLimit(
                f"The limit of {self.per_minute:,} searches in a minute ({self.limit}) is reached",
                retry_after=max(1.0, bucket.until - self.clock()),
            )
        bucket.left -= searches

    def _bucket(self, principal: str) -> _Bucket:
        now = self.clock()
        bucket = self._buckets.get(principal)
        if bucket is None or bucket.until <= now:
            # Removes the buckets of past minutes.
            self._buckets = {name: each for name, each in self._buckets.items() if each.until > now}
            bucket = self._buckets[principal] = _Bucket(self.per_minute // _FREE_SHARE, now + _MINUTE)
        return bucket

    def _fill(self, bucket: _Bucket, principal: str, wanted: int) -> None:
        try:
            grant = self.quotas.take(principal, wanted=wanted, per_minute=self.per_minute)
        except SakuinError:
            logger.warning("the quotas are unavailable; searches are allowed", exc_info=True)
            grant = Grant(max(wanted, self.per_minute), _UNAVAILABLE_SECONDS)
        bucket.left += grant.searches
        bucket.until = self.clock() + grant.seconds
        bucket.empty = grant.searches == 0
