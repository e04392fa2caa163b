"""How often a holder may ask: a key of `/mcp`, or an endpoint of a project with all of its keys."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Granted:
    """How many searches were granted, and the seconds until the holder's minute ends."""

    searches: int
    seconds: float


class Allowances(Protocol):
    """The searches that each holder has left in this minute; a minute is the same one for everybody."""

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Granted:
        """Grants some of the holder's `per_minute` searches: `wanted` or less, and never more than are left.

        Of what is left a quarter is given at a time, so that little is stranded with workers that do not use it.
        """
