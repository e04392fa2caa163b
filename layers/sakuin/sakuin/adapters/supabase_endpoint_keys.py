"""The hashes of endpoints' keys in Supabase, made anew with today's pepper."""

from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call


@dataclass(frozen=True, slots=True)
class SupabaseEndpointKeys:
    """Keys of endpoints, known by their keyed hashes alone."""

    client: Client

    def rehash(self, mcp_id: str, old: str, new: str) -> None:
        """The endpoint's key with the hash `old` has the hash `new` from now on; one that is gone is not an error."""
        call(self.client, "rehash_key", {"p_mcp": mcp_id, "p_old": old, "p_new": new})
