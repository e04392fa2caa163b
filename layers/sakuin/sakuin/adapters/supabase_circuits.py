"""What all workers know of vendors that fail, in Supabase."""

from dataclasses import dataclass
from typing import Any

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.ports.circuits import CircuitRecord


@dataclass(frozen=True, slots=True)
class SupabaseCircuits:
    """`CircuitRecords`."""

    client: Client

    def read(self, name: str) -> CircuitRecord | None:
        row = call(self.client, "read_circuit", {"p_name": name})
        if not row:
            return None
        return CircuitRecord(
            state=row["state"],
            failures=row["failure_count"],
            opened_at=row["opened_at"],
            owner=row["half_open_owner"],
            lease_until=row["probe_lease_expiry"],
        )

    def opened(self, name: str, *, failures: int, at: int) -> None:
        call(self.client, "open_circuit", {"p_name": name, "p_failure_count": failures, "p_opened_at": at})

    def claimed(self, name: str, *, owner: str, opened_at: int, lease_until: int, now: int) -> bool:
        asked: dict[str, Any] = {"p_name": name, "p_owner": owner, "p_opened_at": opened_at}
        return bool(call(self.client, "claim_probe", {**asked, "p_lease_expiry": lease_until, "p_now": now}))

    def ended(self, name: str, *, opened_at: int | None) -> None:
        call(self.client, "end_probe", {"p_name": name, "p_opened_at": opened_at})
