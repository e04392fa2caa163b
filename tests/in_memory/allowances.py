"""What is left of each minute, in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sakuin.errors import Unavailable
from sakuin.ports.allowances import Granted


@dataclass
class MemoryAllowances:
    """An `Allowances` whose time is what `clock` says; `away`: it does not answer. `asked` counts the calls."""

    clock: Callable[[], float] = lambda: 0.0
    taken: dict[tuple[str, int], int] = field(default_factory=dict)
    asked: int = 0
    away: bool = False

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Granted:
        self.asked += 1
        if self.away:
            raise Unavailable("Supabase did not answer")
        now = self.clock()
        place = holder, int(now // 60)
        left = max(per_minute - self.taken.get(place, 0), 0)
        granted = min(wanted, -(-left // 4))
        self.taken[place] = self.taken.get(place, 0) + granted
        return Granted(granted, 60 - now % 60)
