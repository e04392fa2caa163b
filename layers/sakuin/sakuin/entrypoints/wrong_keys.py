"""Keys that did not open an endpoint just now: asking again costs the database nothing."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

_WRONG_SECONDS = 5.0
_RIGHT_SECONDS = 300.0
# In a worker, within `_WRONG_SECONDS`: more is no slip of a hand.
_MOST_MISSES = 20
_MOST_KEPT = 1000


@dataclass(slots=True)
class WrongKeys:
    """What a worker remembers of the keys that endpoints were asked with; kept as hashes, a few seconds long."""

    clock: Callable[[], float]
    _wrong: OrderedDict[bytes, float] = field(default_factory=OrderedDict)
    _right: OrderedDict[bytes, float] = field(default_factory=OrderedDict)

    def is_wrong(self, mcp_id: str, key: str) -> bool:
        """Whether this key did not open this endpoint a moment ago."""
        return self._is_fresh(self._wrong, _name(mcp_id, key))

    def seconds_to_wait(self, mcp_id: str, key: str) -> float:
        """How long nobody new is asked about, since so many keys were wrong; 0 for a key that opened lately."""
        now = self.clock()
        misses = [until for until in self._wrong.values() if until > now]
        if len(misses) < _MOST_MISSES or self._is_fresh(self._right, _name(mcp_id, key)):
            return 0.0
        return min(misses) - now

    def note(self, mcp_id: str, key: str, *, opened: bool) -> None:
        """Remembers what came of it."""
        kept, seconds = (self._right, _RIGHT_SECONDS) if opened else (self._wrong, _WRONG_SECONDS)
        kept[_name(mcp_id, key)] = self.clock() + seconds
        while len(kept) > _MOST_KEPT:
            kept.popitem(last=False)

    def _is_fresh(self, kept: OrderedDict[bytes, float], name: bytes) -> bool:
        return kept.get(name, 0.0) > self.clock()


def _name(mcp_id: str, key: str) -> bytes:
    return hashlib.sha256(f"{mcp_id} {key}".encode()).digest()
