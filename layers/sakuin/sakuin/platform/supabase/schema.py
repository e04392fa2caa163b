"""The schema of the database, compared with the one that this code was built for, and when maintenance last ended."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sakuin.errors import SakuinError
from sakuin.platform.supabase.client import Client, call

SchemaState = Literal["current", "older", "newer", "changed", "unknown"]

# The last file of supabase/migrations, and `schema_digest()` after it; `python -m tests.upgrade write` writes both.
NEWEST_MIGRATION = "20261130100000"
DIGEST = "3da54b84b0ae6e679cc9484f058e18c0"

ADVICE: Mapping[SchemaState, str] = {
    "older": "Apply the migrations: docs/how-to/upgrade.md.",
    "newer": "Deploy the functions of the version that the migrations are from: docs/how-to/upgrade.md.",
    "changed": "Find what was changed by hand: docs/how-to/upgrade.md, a schema that differs.",
    "unknown": "Run `sakuin doctor`: the database did not answer.",
}
_FRESH_SECONDS = 60.0


def compared(migrations: Collection[str], digest: str) -> SchemaState:
    """Returns the state of a database with these applied migrations and this digest."""
    if digest == DIGEST:
        return "current"
    if NEWEST_MIGRATION not in migrations:
        return "older"
    return "newer" if max(migrations) > NEWEST_MIGRATION else "changed"


@dataclass(frozen=True, slots=True)
class Health:
    """The schema of the database, and when a run of maintenance last ended without an error; None: not known."""

    schema: SchemaState = "unknown"
    maintained_at: str | None = None


@dataclass(slots=True)
class HealthCheck:
    """Asks the database at most once a minute: `/healthz` is open to everybody."""

    client: Client
    clock: Callable[[], float] = time.monotonic
    _health: Health = field(default=Health(), init=False)
    _until: float = field(default=float("-inf"), init=False)

    def __call__(self) -> Health:
        if self.clock() >= self._until:
            self._until = self.clock() + _FRESH_SECONDS
            try:
                state = call(self.client, "health_state", {})
                self._health = Health(compared(**state["schema"]), state["maintained_at"])
            except SakuinError:
                self._health = Health()
        return self._health
