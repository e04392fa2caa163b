"""Whether a key opens an endpoint of Search Tools."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.bound_tools import Endpoint
from sakuin.domain.keys import hash_of_key, is_key, known_hash
from sakuin.entrypoints.authorization import KeyRing, opening_hash_among
from sakuin.entrypoints.wrong_keys import WrongKeys
from sakuin.errors import OverLimit, SakuinError

# Gives the enabled endpoint of an id, if there is one.
EndpointOf = Callable[[str], Endpoint | None]
# Gives the key of an endpoint with one hash another one.
Rehash = Callable[[str, str, str], None]

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndpointKeys:
    """Judges the keys of endpoints; `settled` says whether every worker knows the ring's present pepper."""

    ring: KeyRing
    endpoint: EndpointOf
    rehash: Rehash
    settled: Callable[[], bool]
    wrong: WrongKeys

    def __call__(self, mcp_id: str, key: str | None) -> tuple[Endpoint, str] | None:
        """The endpoint and its key's hash, None for a wrong key; `OverLimit` after too many wrong ones."""
        mcp_id = mcp_id.lower()
        # What cannot be right is no guess: it is neither asked about nor counted.
        if key is None or not is_key(key) or not _ID.fullmatch(mcp_id) or self.wrong.is_wrong(mcp_id, key):
            return None
        self._check_rate(mcp_id, key)
        endpoint = self.endpoint(mcp_id)
        hashes = endpoint.key_hashes if endpoint else ()
        known = opening_hash_among(key, hashes, self.ring)
        if endpoint is None or known is None:
            self.wrong.note(mcp_id, key, hashes)
            return None
        return endpoint, self._lasting(endpoint.id, key, known)

    def _check_rate(self, mcp_id: str, key: str) -> None:
        """Lets through a key that was right when the endpoint was last looked at: others cannot shut it out."""
        if found := self.wrong.too_many(mcp_id):
            seconds, hashes = found
            if known_hash(key, hashes, self.ring()[1]) is None:
                raise OverLimit("Too many wrong keys.", retry_after=seconds)

    def _lasting(self, mcp_id: str, key: str, known: str) -> str:
        """The hash that the key has from now on: the pepper that it was made with is to be forgotten one day."""
        present = hash_of_key(key, self.ring()[1][0])
        # A worker that does not know the present pepper yet would refuse the key.
        if known == present or not self.settled():
            return known
        try:
            self.rehash(mcp_id, known, present)
        except SakuinError:
            logger.warning("a key keeps the hash of an old pepper", exc_info=True)
            return known
        return present
