"""The outbox of events, and its publisher."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sakuin.platform.supabase.client import Client, call
from sakuin.tables.admin.eventbridge import EventBridgeBus
from sakuin.tables.model import OutboxEvent


@dataclass(frozen=True, slots=True)
class Outbox:
    """The committed events that are not sent yet."""

    client: Client

    def unsent_events(self, *, limit: int) -> Sequence[OutboxEvent]:
        """Returns the oldest unsent events."""
        rows = call(self.client, "unsent_events", {"p_limit": limit})
        return [
            OutboxEvent(
                row["id"], row["event"], row["project_id"], row["table_id"], row["tool_id"], row.get("request_id")
            )
            for row in rows
        ]

    def mark_sent(self, ids: Collection[int]) -> None:
        """Records that the bus accepted these events. Idempotent; no ids is not an error."""
        if ids:
            call(self.client, "mark_events_sent", {"p_ids": sorted(ids)})


_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    """Publishes events at least once: two publishers may send the same event, and receivers read the current state."""

    outbox: Outbox
    bus: EventBridgeBus

    def __call__(self) -> int:
        """Sends unsent events, oldest first, until the bus rejects one. Returns how many it accepted."""
        sent = 0
        while waiting := self.outbox.unsent_events(limit=_AT_ONCE):
            taken = self.bus.put(waiting)
            self.outbox.mark_sent(taken)
            sent += len(taken)
            if len(taken) < len(waiting) or len(waiting) < _AT_ONCE:
                break
        return sent
