"""The outbox of events, and its publisher to Amazon EventBridge."""

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.tables.model import OutboxEvent
from sakuin.texts.catalogue import coded

SOURCE = "sakuin"

# The limit of PutEvents.
_EVENTS_A_REQUEST = 10
_AT_ONCE = 100
# A request that changed something publishes before it is answered, and `maintain` has other parts.
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class EventBridgeBus:
    """The bus for events of Tables and Tools. `client` is boto3's of `events`."""

    client: Any
    bus_name: str

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        """Sends events and returns the ids of those that the bus accepted. No events is not an error."""
        taken: set[int] = set()
        for start in range(0, len(events), _EVENTS_A_REQUEST):
            some = events[start : start + _EVENTS_A_REQUEST]
            try:
                answer = self.client.put_events(Entries=[self._entry(event) for event in some])
            except (ClientError, BotoCoreError) as error:
                raise Unavailable(coded("record.no_bus"), vendor="eventbridge") from error
            # Each entry is accepted or rejected by itself. The answer has the order of the request.
            entries = answer.get("Entries", ())
            taken |= {event.id for event, entry in zip(some, entries, strict=False) if not entry.get("ErrorCode")}
        return taken

    def _entry(self, event: OutboxEvent) -> dict[str, str]:
        detail = {"project_id": event.project_id, "table_id": event.table_id, "tool_id": event.tool_id}
        if event.request_id:
            detail["request_id"] = event.request_id
        return {
            "Source": SOURCE,
            "DetailType": event.event,
            "Detail": json.dumps(detail),
            "EventBusName": self.bus_name,
        }


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
            sent = self.bus.put(events)
            rejected |= {each.id for each in events} - sent
            self.mark_sent(sent, rejected=rejected & {each.id for each in events})
            accepted += len(sent)
            if len(events) < _AT_ONCE or self.clock() > until:
                break
        return accepted

    def unsent_events(self, *, limit: int) -> Sequence[OutboxEvent]:
        """Returns the oldest unsent events; those that the bus rejected come last."""
        events = self.client.table("outbox").select("id,event,project_id,table_id,tool_id,request_id")
        unsent = events.is_null("sent_at").order("rejected_at.nullsfirst", "id")
        return [OutboxEvent(**row) for row in answer(unsent.limit(limit))]

    def mark_sent(self, ids: Collection[int], *, rejected: Collection[int] = ()) -> None:
        """Records which events the bus accepted and which it rejected. Idempotent; no ids is not an error."""
        if ids or rejected:
            call(self.client, "mark_events_sent", {"p_ids": sorted(ids), "p_rejected": sorted(rejected)})
