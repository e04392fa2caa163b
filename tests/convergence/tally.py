"""What schedules did, counted."""

from collections import Counter
from dataclasses import dataclass, field

from tests.convergence.interleaving import Fate


@dataclass
class Tally:
    """Counts over many schedules; `faults` by kind and place."""

    schedules: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[Fate, str]] = field(default_factory=Counter)
    most_at_once: int = 0

    def call(self, fate: Fate, place: str | None) -> None:
        """A call that a worker is about to make."""
        if place is not None:
            self.messages["calls made by workers"] += 1
            if fate is not Fate.GO:
                self.faults[fate, place] += 1

    def as_lines(self) -> list[str]:
        kinds = Counter(fate for fate, _ in self.faults.elements())
        lines = [f"schedules: {self.schedules:,}", f"steps: {self.steps.total():,}"]
        lines += [f"  {name}: {count:,}" for name, count in sorted(self.steps.items())]
        lines += [f"{name}: {count:,}" for name, count in sorted(self.messages.items())]
        lines += [f"most workers at once: {self.most_at_once}", f"faults injected: {kinds.total():,}"]
        lines += [f"  {fate}: {count:,}" for fate, count in sorted(kinds.items())]
        places = Counter(place for _, place in self.faults.elements())
        lines += [f"  at {place}: {count:,}" for place, count in sorted(places.items())]
        return lines
