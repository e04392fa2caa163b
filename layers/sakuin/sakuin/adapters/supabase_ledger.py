"""The day's embedding tokens in Supabase."""

from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call


@dataclass(frozen=True, slots=True)
class SupabaseLedger:
    """An `EmbeddingLedger`."""

    client: Client

    def spent(self) -> int:
        return int(call(self.client, "embedding_tokens_today", {}))

    def add(self, tokens: int) -> None:
        call(self.client, "add_embedding_tokens", {"p_tokens": tokens})
