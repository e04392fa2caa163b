"""Whether a key opens an endpoint of Search Tools."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sakuin.errors import OverLimit
from sakuin.mcp.wrong_keys import WrongKeys
from sakuin.platform.keys import is_key, known_hash
from sakuin.tables.model import Endpoint

# Gives the enabled endpoint of an id, if there is one.
EndpointOf = Callable[[str], Endpoint | None]

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class EndpointKeys:
    """Judges the keys of endpoints."""

    endpoint: EndpointOf
    wrong: WrongKeys

    def open(self, mcp_id: str, key: str | None) -> tuple[Endpoint, str] | None:
        """Returns the endpoint and the hash of its key, None for a wrong key; `OverLimit` after too many wrong ones."""
        mcp_id = mcp_id.lower()
        # What cannot be right is no guess: it is neither looked up nor counted.
        if key is None or not is_key(key) or not _ID.fullmatch(mcp_id) or self.wrong.is_wrong(mcp_id, key):
            return None
        self._check_rate(mcp_id, key)
        endpoint = self.endpoint(mcp_id)
        hashes = endpoint.key_hashes if endpoint else ()
        known = known_hash(key, hashes)
        if endpoint is None or known is None:
            self.wrong.note(mcp_id, key, hashes)
            return None
        return endpoint, known

    def _check_rate(self, mcp_id: str, key: str) -> None:
        """Lets through a key that was right when the endpoint was last looked up: others cannot lock it out."""
        if found := self.wrong.too_many(mcp_id):
            seconds, hashes = found
            if known_hash(key, hashes) is None:
                raise OverLimit("Too many wrong keys.", retry_after=seconds)
