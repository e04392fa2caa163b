"""A material queue that keeps what it was given."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Asked:
    """One message: the material, why, which attempt, and how long the queue holds it back."""

    material: str
    reason: str
    attempt: int
    delay_seconds: int


@dataclass
class MemoryQueue:
    """A `WorkQueue`. `asked` and `looks` are everything that was ever sent."""

    asked: list[Asked] = field(default_factory=list)
    looks: list[tuple[str, str]] = field(default_factory=list)
    _taken: int = 0
    _looked: int = 0

    def reapply(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        self.asked += [Asked(material, reason, attempt, delay_seconds) for material in sorted(materials)]

    def look(self, keys: Collection[str], *, reason: str) -> None:
        self.looks += [(key, reason) for key in sorted(keys)]

    def take_messages(self) -> list[str]:
        """The bodies sent since the last time; delays have passed."""
        new, self._taken = self.asked[self._taken :], len(self.asked)
        looks, self._looked = self.looks[self._looked :], len(self.looks)
        return [json.dumps({"look": {"key": key, "reason": reason}}) for key, reason in looks] + [
            json.dumps({"reapply": {"material": one.material, "reason": one.reason, "attempt": one.attempt}})
            for one in new
        ]
