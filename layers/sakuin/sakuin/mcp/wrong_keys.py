"""Keys that did not open an endpoint just now: asking again costs the database nothing."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_SECONDS = 5.0
# Of one endpoint in a worker, within `_SECONDS`: more is no slip of a hand.
_MOST_MISSES = 20
# A stranger may name a million endpoints: then what is known longest is forgotten, and asked again.
_MOST_KEPT = 1000


@dataclass(slots=True)
class _Misses:
    """How many keys were wrong for one endpoint, and the hashes of those that are right."""

    until: float
    count: int = 0
    hashes: tuple[str, ...] = ()


@dataclass(slots=True)
class WrongKeys:
    """What a worker remembers a few seconds long: wrong keys as hashes, and how many each endpoint was sent."""

    clock: Callable[[], float]
    _wrong: OrderedDict[bytes, float] = field(default_factory=OrderedDict)
    _misses: OrderedDict[str, _Misses] = field(default_factory=OrderedDict)

    def is_wrong(self, mcp_id: str, key: str) -> bool:
        """Whether this key did not open this endpoint a moment ago."""
        return self._wrong.get(_name(mcp_id, key), 0.0) > self.clock()

    def too_many(self, mcp_id: str) -> tuple[float, Sequence[str]] | None:
        """After so many wrong keys of an endpoint: for how long it is asked about no more, and the hashes to go by."""
        misses, now = self._misses.get(mcp_id), self.clock()
        if misses is None or misses.until <= now or misses.count < _MOST_MISSES:
            return None
        return misses.until - now, misses.hashes

    def note(self, mcp_id: str, key: str, hashes: Sequence[str]) -> None:
        """Remembers that the key opened nothing, where the endpoint's keys have these hashes."""
        now = self.clock()
        self._wrong[_name(mcp_id, key)] = now + _SECONDS
        misses = self._misses.get(mcp_id)
        if misses is None or misses.until <= now:
            misses = self._misses[mcp_id] = _Misses(now + _SECONDS)
        misses.count, misses.hashes = misses.count + 1, tuple(hashes)
        for kept in (self._wrong, self._misses):
            while len(kept) > _MOST_KEPT:
                kept.popitem(last=False)


def _name(mcp_id: str, key: str) -> bytes:
    return hashlib.sha256(f"{mcp_id} {key}".encode()).digest()
