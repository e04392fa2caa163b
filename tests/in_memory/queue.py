"""A material queue that keeps what it was given."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to index a material again: why, which attempt, and for how long its queue holds it back."""

    material: str
    reason: str
    attempt: int
    delay_seconds: int


@dataclass
class MemoryQueue:
    """A `WorkQueue`. `asked` and `rechecks` (key and reason) are everything that was ever sent."""

    asked: list[Asked] = field(default_factory=list)
    rechecks: list[tuple[str, str]] = field(default_factory=list)
    _taken: int = 0
    _taken_rechecks: int = 0

    def reindex(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        self.asked += [Asked(material, reason, attempt, delay_seconds) for material in sorted(materials)]

    def recheck(self, keys: Collection[str], *, reason: str) -> None:
        self.rechecks += [(key, reason) for key in sorted(keys)]

    def take_messages(self) -> list[str]:
        """The bodies sent since the last time; delays have passed."""
        new, self._taken = self.asked[self._taken :], len(self.asked)
        keys, self._taken_rechecks = self.rechecks[self._taken_rechecks :], len(self.rechecks)
        return [json.dumps({"recheck": {"key": key, "reason": reason}}) for key, reason in keys] + [
            json.dumps({"reindex": {"material": one.material, "reason": one.reason, "attempt": one.attempt}})
            for one in new
        ]
