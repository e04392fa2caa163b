"""The event bus on Amazon EventBridge."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Unavailable
from sakuin.tables.model import OutboxEvent

SOURCE = "sakuin"

# The limit of PutEvents.
_EVENTS_A_REQUEST = 10


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
                raise Unavailable("EventBridge did not accept the events", vendor="eventbridge") from error
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
