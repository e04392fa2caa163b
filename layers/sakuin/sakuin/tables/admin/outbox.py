"""The outbox of events, and its publisher."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sakuin.platform.supabase.client import Client, call
from sakuin.tables.admin.eventbridge import EventBridgeBus
from sakuin.tables.model import OutboxEvent


@dataclass(frozen=True, slots=True)
class Outbox:
    """The committed events that are not sent yet."""

    client: Client

    def unsent_events(self, *, limit: int) -> Sequence[OutboxEvent]:
        """Returns the oldest unsent events; those that the bus rejected come last."""
        rows = call(self.client, "unsent_events", {"p_limit": limit})
        return [
            OutboxEvent(
                row["id"], row["event"], row["project_id"], row["table_id"], row["tool_id"], row.get("request_id")
            )
            for row in rows
        ]

    def mark_sent(self, ids: Collection[int], *, rejected: Collection[int] = ()) -> None:
        """Records which events the bus accepted and which it rejected. Idempotent; no ids is not an error."""
        if ids or rejected:
            call(self.client, "mark_events_sent", {"p_ids": sorted(ids), "p_rejected": sorted(rejected)})


_AT_ONCE = 100
# A request that changed something publishes before it is answered, and `maintain` has other parts.
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    """Publishes events at least once: two publishers may send the same event, and receivers read the current state."""

    outbox: Outbox
    bus: EventBridgeBus
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> int:
        """Sends unsent events, each once, for some seconds. Returns how many the bus accepted.

        An event that the bus rejects is sent again by a later call, after all others.
        """
        accepted, rejected = 0, set[int]()
        until = self.clock() + _SECONDS
        while events := [each for each in self.outbox.unsent_events(limit=_AT_ONCE) if each.id not in rejected]:
            sent = self.bus.put(events)
            rejected |= {each.id for each in events} - sent
            self.outbox.mark_sent(sent, rejected=rejected & {each.id for each in events})
            accepted += len(sent)
            if len(events) < _AT_ONCE or self.clock() > until:
                break
        return accepted
