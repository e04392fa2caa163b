"""Event buses that remember."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.errors import Unavailable
from sakuin.platform.aws import BusEvent
from sakuin.tables.messages import EVENTS

from tests.doubles.sqs import ModelledSqs


@dataclass
class MemoryBus:
    """An `EventBridgeBus`; `down` takes nothing, and events about what is `rejected` are not accepted."""

    taken: list[BusEvent] = field(default_factory=list)
    down: bool = False
    rejected: str = "nothing"

    def put(self, events: Sequence[BusEvent]) -> list[bool]:
        if self.down:
            raise Unavailable("EventBridge did not accept the events")
        accepted = [self.rejected not in event.detail.values() for event in events]
        self.taken += [event for event, is_accepted in zip(events, accepted, strict=True) if is_accepted]
        return accepted

    @property
    def names(self) -> list[str]:
        """The kinds of the events, in their order."""
        return [event.type for event in self.taken]


@dataclass
class ModelledBus:
    """boto3's client of EventBridge: what it takes goes to `queue`, as the product's rule has it.

    `refused` says which entries of the next request it does not take.
    """

    sqs: ModelledSqs
    queue: str
    refused: frozenset[int] = frozenset()
    taken: list[dict[str, str]] = field(default_factory=list)

    def put_events(self, *, Entries: list[dict[str, str]]) -> dict[str, Any]:
        refused, self.refused = self.refused, frozenset()
        answer = []
        for number, entry in enumerate(Entries):
            if number in refused:
                answer.append({"ErrorCode": "ThrottlingException"})
                continue
            self.taken.append(entry)
            if entry["DetailType"] in EVENTS:
                body = f'{{"detail-type": "{entry["DetailType"]}", "detail": {entry["Detail"]}}}'
                self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)
            answer.append({"EventId": "1"})
        return {"FailedEntryCount": len(refused), "Entries": answer}
