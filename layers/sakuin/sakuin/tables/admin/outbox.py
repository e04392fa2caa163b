"""Publishes the events of changes from the outbox."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.platform.supabase.client import Client, call
from sakuin.tables.model import OutboxEvent


class EventBus(Protocol):
    """The bus that the platform's events travel on."""

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        """Sends events; the ids of those that the bus took. None is not an error."""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Events that are committed, and wait for the bus."""

    client: Client

    def unsent_events(self, *, limit: int) -> Sequence[OutboxEvent]:
        """The oldest that wait."""
        rows = call(self.client, "unsent_events", {"p_limit": limit})
        return [
            OutboxEvent(
                row["id"], row["event"], row["project_id"], row["table_id"], row["tool_id"], row.get("request_id")
            )
            for row in rows
        ]

    def mark_sent(self, ids: Collection[int]) -> None:
        """Remembers that the bus took them. Twice is once; none is not an error."""
        if ids:
            call(self.client, "mark_events_sent", {"p_ids": sorted(ids)})


_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    """At least once: two senders at a time may send an event twice, and receivers read present state."""

    outbox: Outbox
    bus: EventBus

    def __call__(self) -> int:
        """Sends what waits, oldest first; how many the bus took. It stops where the bus takes none of a batch."""
        sent = 0
        while waiting := self.outbox.unsent_events(limit=_AT_ONCE):
            taken = self.bus.put(waiting)
            self.outbox.mark_sent(taken)
            sent += len(taken)
            if len(taken) < len(waiting) or len(waiting) < _AT_ONCE:
                break
        return sent
