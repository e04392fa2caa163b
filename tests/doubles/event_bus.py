"""An event bus that remembers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sakuin.errors import Unavailable
from sakuin.tables.model import OutboxEvent


@dataclass
class MemoryBus:
    """An `EventBridgeBus`; `down` takes nothing."""

    taken: list[OutboxEvent] = field(default_factory=list)
    down: bool = False

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        if self.down:
            raise Unavailable("EventBridge did not accept the events")
        self.taken += events
        return {event.id for event in events}

    @property
    def names(self) -> list[str]:
        """The kinds of the events, in their order."""
        return [event.event for event in self.taken]
