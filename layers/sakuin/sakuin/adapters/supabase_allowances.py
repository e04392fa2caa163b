"""What is left of each minute, counted in Supabase."""

from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.ports.allowances import Granted


@dataclass(frozen=True, slots=True)
class SupabaseAllowances:
    """An `Allowances`."""

    client: Client

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Granted:
        asked = {"p_holder": holder, "p_wanted": wanted, "p_per_minute": per_minute}
        row = call(self.client, "take_allowance", asked)
        return Granted(int(row["searches"]), float(row["seconds"]))
