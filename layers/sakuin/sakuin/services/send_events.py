"""Committed events go to the bus."""

from dataclasses import dataclass

from sakuin.ports.projects import EventBus, Outbox

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class SendEvents:
    """At least once: two senders at a time may send an event twice, and receivers read present state."""

    outbox: Outbox
    bus: EventBus

    def __call__(self) -> int:
        """Sends what waits, oldest first; how many the bus took. It stops where the bus takes none of a batch."""
        sent = 0
        while waiting := self.outbox.unsent(limit=_AT_ONCE):
            taken = self.bus.put(waiting)
            self.outbox.sent(taken)
            sent += len(taken)
            if len(taken) < len(waiting) or len(waiting) < _AT_ONCE:
                break
        return sent
