"""How far a whole walk came, kind by kind: one that fails does not hold up the others, nor every night."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

# A minute apart: what lasts longer is not waited for, and the next night begins anew.
MOST_TRIES = 30
# Under way, with nothing left to do: None would be the beginning.
NOWHERE = "[]"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the walk of one kind goes on; how often it was tried from there in vain."""

    kind: str
    after: str | None = None
    tries: int = 0

    def tried(self) -> "Place":
        """The same, once more in vain."""
        return replace(self, tries=self.tries + 1)


def places_of(text: str | None, kinds: Sequence[str]) -> list[Place]:
    """The kinds that are not at their end, those first that were tried least; at the beginning (None) all of them."""
    if text is None:
        return [Place(kind) for kind in kinds]
    return sorted((Place(*one) for one in json.loads(text)), key=lambda place: place.tries)


def text_of(places: Sequence[Place]) -> str | None:
    """What `places_of` reads; None where nothing is left, or no longer tried."""
    left = [[place.kind, place.after, place.tries] for place in places if place.tries < MOST_TRIES]
    return json.dumps(left) if left else None
