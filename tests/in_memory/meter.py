"""A meter that remembers."""

from dataclasses import dataclass, field


@dataclass
class MemoryMeter:
    """A `Meter`."""

    counts: list[tuple[str, float]] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)

    def count(self, name: str, value: float = 1) -> None:
        self.counts.append((name, value))

    def took(self, name: str, milliseconds: float) -> None:
        self.times.append((name, milliseconds))
