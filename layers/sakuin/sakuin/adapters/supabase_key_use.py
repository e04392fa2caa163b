"""On which day a key was last used, remembered in Supabase."""

from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call


@dataclass(frozen=True, slots=True)
class SupabaseKeyUse:
    """Keys are known by their keyed hashes alone."""

    client: Client

    def note(self, key_hash: str) -> None:
        """The key was used today, in UTC. Twice a day is once."""
        call(self.client, "note_key_use", {"p_key_hash": key_hash})
