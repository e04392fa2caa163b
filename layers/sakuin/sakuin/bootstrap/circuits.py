"""How each vendor is asked: again after a failure, and behind a circuit that all workers share."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from sakuin.adapters.asking import Ask, Inside, Retries
from sakuin.adapters.circuit import Change, Circuit, Guard
from sakuin.ports.costs import Meter

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

_COUNTED = {"opened": "CircuitsOpened", "refused": "CallsNotMade", "denied": "CallsDenied"}


class Circuits:
    """The circuits of one function. What breaks them is loaded with a vendor's first failure, not before."""

    def __init__(self, client: Callable[[], "Client"], meter: Meter, logger: Logger) -> None:
        self._client = client
        self._meter = meter
        self._logger = logger

    def around(self, retries: Retries, *, vendor: str, work: str) -> Ask:
        """How `vendor` is asked for one kind of work, `{vendor}-{work}`."""
        name = f"{vendor}-{work}"
        circuit = Circuit(name, vendor, self._guard(name, vendor), self._told)
        # Outside the circuit: that there is no time says nothing about the vendor.
        return Inside(retries.in_time, Inside(circuit, retries))

    def _guard(self, name: str, vendor: str) -> Callable[[], Guard]:
        @cache
        def guard() -> Guard:
            from sakuin.adapters.circuit_breaker import guard_of
            from sakuin.adapters.circuit_store import SharedCircuits
            from sakuin.adapters.supabase_circuits import SupabaseCircuits

            return guard_of(name, vendor, SharedCircuits(SupabaseCircuits(self._client())), self._told)

        return guard

    def _told(self, name: str, change: Change) -> None:
        if change in _COUNTED:
            self._meter.count(_COUNTED[change])
        if change not in ("refused", "denied"):
            self._logger.warning("circuit changed", circuit=name, change=change)
