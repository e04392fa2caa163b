"""What keys have left of their minute, counted in Supabase."""

from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.ports.allowances import Granted


@dataclass(frozen=True, slots=True)
class SupabaseAllowances:
    """An `Allowances`."""

    client: Client

    def take(self, key_hash: str, *, wanted: int, per_minute: int) -> Granted:
        row = call(self.client, "take_allowance", {"p_key": key_hash, "p_wanted": wanted, "p_per_minute": per_minute})
        return Granted(int(row["searches"]), float(row["seconds"]))
