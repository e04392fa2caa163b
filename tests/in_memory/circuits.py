"""Circuits of one process."""

from dataclasses import dataclass, field

from sakuin.errors import Unavailable
from sakuin.ports.circuits import CircuitRecord


@dataclass
class MemoryCircuits:
    """`CircuitRecords`. `reads` are counted; `down` makes them fail."""

    records: dict[str, CircuitRecord] = field(default_factory=dict)
    asked: int = 0
    down: bool = False

    def read(self, name: str) -> CircuitRecord | None:
        self._ask()
        return self.records.get(name)

    def opened(self, name: str, *, failures: int, at: int) -> None:
        self._ask()
        known = self.records.get(name)
        if known is None or known.state == "CLOSED":
            self.records[name] = CircuitRecord("OPEN", failures, at)

    def claimed(self, name: str, *, owner: str, opened_at: int, lease_until: int, now: int) -> bool:
        self._ask()
        known = self.records.get(name)
        if known is None or not _is_free(known, opened_at, now):
            return False
        self.records[name] = CircuitRecord("HALF_OPEN", known.failures, known.opened_at, owner, lease_until)
        return True

    def ended(self, name: str, *, opened_at: int | None) -> None:
        self._ask()
        if name in self.records:
            self.records[name] = CircuitRecord("CLOSED" if opened_at is None else "OPEN", 0, opened_at)

    def _ask(self) -> None:
        self.asked += 1
        if self.down:
            raise Unavailable("Supabase did not answer", vendor="supabase")


def _is_free(known: CircuitRecord, opened_at: int, now: int) -> bool:
    if known.state == "OPEN":
        return known.opened_at == opened_at
    return known.state == "HALF_OPEN" and (known.lease_until or 0) <= now
