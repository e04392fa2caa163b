"""On which day a key was last used, remembered in Supabase."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import answer, call


@dataclass(frozen=True, slots=True)
class SupabaseKeyUse:
    """Keys are known by their keyed hashes alone."""

    client: Client

    def note(self, key_hash: str) -> None:
        """The key was used today, in UTC. Twice a day is once."""
        call(self.client, "note_key_use", {"p_key_hash": key_hash})

    def days(self, key_hashes: Collection[str]) -> Mapping[str, str]:
        """The day on which each key was last used, as 2026-11-22; those not used in a year are left out."""
        rows = answer(self.client.table("key_use").select("*").in_("key_hash", sorted(key_hashes)))
        return {row["key_hash"]: row["last_used_on"] for row in rows}
