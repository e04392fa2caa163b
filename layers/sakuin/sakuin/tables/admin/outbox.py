"""The outbox of events about Tables and Tools."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sakuin.platform.aws import BusEvent, EventBridgeBus
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.tables.model import OutboxEvent

# Of the schema of ToolReady and ToolFailed, in docs/reference/events.md.
_EVENT_VERSION = 1
_AT_ONCE = 100
# A request that changed something publishes before it is answered, and `maintain` has other parts.
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Outbox:
    """The committed events that are not sent yet."""

    client: Client
    bus: EventBridgeBus
    clock: Callable[[], float] = time.monotonic

    def publish(self) -> int:
        """Sends unsent events, each once, for some seconds. Returns how many the bus accepted.

        An event that the bus rejects is sent again by a later call, after all others. Two workers may send the same
        event: receivers read the current state.
        """
        accepted, rejected = 0, set[int]()
        until = self.clock() + _SECONDS
        while events := [each for each in self.unsent_events(limit=_AT_ONCE) if each.id not in rejected]:
            results = zip(events, self.bus.put([_event(event) for event in events]), strict=True)
            sent = {event.id for event, is_accepted in results if is_accepted}
            rejected |= {each.id for each in events} - sent
            self.mark_sent(sent, rejected=rejected & {each.id for each in events})
            accepted += len(sent)
            if len(events) < _AT_ONCE or self.clock() > until:
                break
        return accepted

    def unsent_events(self, *, limit: int) -> Sequence[OutboxEvent]:
        """Returns the oldest unsent events; those that the bus rejected come last."""
        events = self.client.table("outbox").select("id,event,project_id,table_id,tool_id,request_id,generation")
        unsent = events.is_("sent_at", "null").order("rejected_at", nullsfirst=True).order("id")
        return [OutboxEvent(**row) for row in answer(unsent.limit(limit))]

    def mark_sent(self, ids: Collection[int], *, rejected: Collection[int] = ()) -> None:
        """Records which events the bus accepted and which it rejected. Idempotent; no ids is not an error."""
        if ids or rejected:
            call(self.client, "mark_events_sent", {"p_ids": sorted(ids), "p_rejected": sorted(rejected)})


def _event(event: OutboxEvent) -> BusEvent:
    detail = {"project_id": event.project_id, "table_id": event.table_id, "tool_id": event.tool_id}
    if event.request_id:
        detail["request_id"] = event.request_id
    if event.generation is not None:
        return BusEvent(event.event, {"version": _EVENT_VERSION, "generation": event.generation, **detail})
    return BusEvent(event.event, detail)
