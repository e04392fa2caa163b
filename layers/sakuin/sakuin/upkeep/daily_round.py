"""Daily rounds: what goes through everything in portions does so once a day."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from sakuin.platform.supabase.client import Client, answer, call

# Works on the portion after a place. Returns how much it did, and the place of the next portion, None after the last.
Portion = Callable[[str], tuple[int, str | None]]


@dataclass(frozen=True, slots=True)
class DailyRound:
    """A round whose place is in Postgres. A worker that dies loses one portion; two at once may repeat portions."""

    client: Client
    name: str
    portion: Portion
    seconds: float = 10.0
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> int:
        """Continues the round of the day for about `seconds`; returns how much it did."""
        until, done = self.clock() + self.seconds, 0
        begun = call(self.client, "begin_round", {"p_name": self.name})
        place: str | None = begun["place"] if begun else None
        while place is not None and self.clock() < until:
            count, place = self.portion(place)
            answer(self.client.table("daily_round").update({"place": place}).eq("name", self.name))
            done += count
        return done
