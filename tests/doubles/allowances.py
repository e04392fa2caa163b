"""The searches of each minute, counted in Postgres by a clock of the test's own."""

from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
from sakuin.errors import Unavailable
from sakuin.mcp.rate_limiter import Grant, Quotas
from sakuin.platform.supabase.client import Client


@dataclass
class ClockedAllowances:
    """An `Quotas` whose minutes are those of `clock`, in seconds. `away`: it does not answer. `asked` counts."""

    client: Client
    sql: psycopg.Connection
    clock: Callable[[], float]
    asked: int = 0
    away: bool = False
    _minutes: dict[str, int] = field(default_factory=dict)

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Grant:
        self.asked += 1
        if self.away:
            raise Unavailable("Supabase did not answer")
        minute, passed = divmod(self.clock(), 60)
        if self._minutes.get(holder) != minute:
            self._minutes[holder] = int(minute)
            self._begin_minute(holder)
        granted = Quotas(self.client).take(holder, wanted=wanted, per_minute=per_minute)
        return Grant(granted.searches, 60 - passed)

    def _begin_minute(self, holder: str) -> None:
        # One that lies ahead goes on until it is there, whatever minute Postgres is in.
        self.sql.execute(
            "insert into public.quota_use values (%s, 'searches', now() + interval '1 hour', 0)"
            " on conflict (principal, quota) do update set began = excluded.began, used = 0",
            [holder],
        )
