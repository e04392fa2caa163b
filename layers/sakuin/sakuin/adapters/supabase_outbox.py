"""The outbox in Supabase."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call
from sakuin.domain.project_records import OutboxEvent


@dataclass(frozen=True, slots=True)
class SupabaseOutbox:
    """An `Outbox`."""

    client: Client

    def unsent(self, *, limit: int) -> Sequence[OutboxEvent]:
        rows = call(self.client, "unsent_events", {"p_limit": limit})
        return [
            OutboxEvent(
                row["id"], row["event"], row["project_id"], row["table_id"], row["tool_id"], row.get("request_id")
            )
            for row in rows
        ]

    def sent(self, ids: Collection[int]) -> None:
        if ids:
            call(self.client, "events_sent", {"p_ids": sorted(ids)})
