"""Who asks: keys of MCP endpoints, with recent wrong keys, which cost no database call; users who signed in."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sakuin.errors import Forbidden, NotFound, OverLimit, Unauthorized
from sakuin.knowledge.model import Filters
from sakuin.platform.keys import hash_of_key, is_key, known_hash
from sakuin.platform.supabase.sign_in import SignIn
from sakuin.tables.model import Endpoint

# Gives, for an id and the hash of a key, the hashes of the endpoint's keys, and the endpoint if it is one of them. The
# number of hashes is always the same: the time must not show whether there is an endpoint.
EndpointOf = Callable[[str, str], tuple[Sequence[str], Endpoint | None]]
# Gives the endpoint for its id and a user who is a member of its project; None for anyone else and for no endpoint.
EndpointOfUser = Callable[[str, str], Endpoint | None]

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# A JWT (RFC 7519): three parts, and the first begins with `{"`.
_TOKEN = re.compile(r"eyJ[\w-]*\.[\w-]+\.[\w-]*", re.ASCII)
_SECONDS = 5.0
# Wrong keys for one endpoint, in one worker, within `_SECONDS`.
_MAX_FAILURES = 20
# Entries in memory; the oldest are removed first.
_MAX_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the endpoint, None for the library, of which only what passes the filter `fixed` is there.

    `payer` is whose quotas are used: the project of an endpoint, else the hash of the key or the user. `key` names the
    key in counters, without a person. `is_public`: it has no key.
    """

    endpoint: Endpoint | None
    fixed: Filters
    payer: str
    key: str
    is_public: bool = False

    @property
    def search_endpoint(self) -> Endpoint:
        """Returns the endpoint. Raises `NotFound` for a caller of the library."""
        if self.endpoint is None:
            raise NotFound("There is no such endpoint")
        return self.endpoint


@dataclass(slots=True)
class _Failures:
    """The number of wrong keys for one endpoint, and the hashes of its valid keys."""

    until: float
    count: int = 0
    hashes: tuple[str, ...] = ()


@dataclass(slots=True)
class WrongKeys:
    """The wrong keys of the last seconds, as hashes, and their number for each endpoint."""

    clock: Callable[[], float]
    _wrong: OrderedDict[bytes, float] = field(default_factory=OrderedDict)
    _failures: OrderedDict[str, _Failures] = field(default_factory=OrderedDict)

    def is_wrong(self, mcp_id: str, key: str) -> bool:
        """Returns whether this key was wrong for this endpoint within the last seconds."""
        return self._wrong.get(_digest(mcp_id, key), 0.0) > self.clock()

    def limit(self, mcp_id: str) -> tuple[float, Sequence[str]] | None:
        """Returns, after too many wrong keys, the seconds to wait and the hashes of the valid keys."""
        failures, now = self._failures.get(mcp_id), self.clock()
        if failures is None or failures.until <= now or failures.count < _MAX_FAILURES:
            return None
        return failures.until - now, failures.hashes

    def add(self, mcp_id: str, key: str, hashes: Sequence[str]) -> None:
        """Adds a wrong key for an endpoint whose valid keys have these hashes."""
        now = self.clock()
        self._wrong[_digest(mcp_id, key)] = now + _SECONDS
        failures = self._failures.get(mcp_id)
        if failures is None or failures.until <= now:
            failures = self._failures[mcp_id] = _Failures(now + _SECONDS)
        failures.count, failures.hashes = failures.count + 1, tuple(hashes)
        for entries in (self._wrong, self._failures):
            while len(entries) > _MAX_ENTRIES:
                entries.popitem(last=False)


def _digest(mcp_id: str, key: str) -> bytes:
    return hashlib.sha256(f"{mcp_id} {key}".encode()).digest()


@dataclass(frozen=True, slots=True)
class EndpointKeys:
    """Checks keys of endpoints."""

    endpoint: EndpointOf
    wrong: WrongKeys

    def find(self, mcp_id: str, key: str | None) -> tuple[Endpoint, str] | None:
        """Returns the endpoint and its key's hash, None for a wrong key; `OverLimit` after too many wrong keys."""
        mcp_id = mcp_id.lower()
        # A malformed key or id is neither looked up nor counted.
        if key is None or not is_key(key) or not _ID.fullmatch(mcp_id) or self.wrong.is_wrong(mcp_id, key):
            return None
        # A key that was valid at the last lookup is not limited: others cannot lock it out.
        if (limit := self.wrong.limit(mcp_id)) and known_hash(key, limit[1]) is None:
            raise OverLimit("Too many wrong keys.", retry_after=limit[0])
        hashes, endpoint = self.endpoint(mcp_id, hash_of_key(key))
        matching = known_hash(key, hashes)
        if endpoint is None or matching is None:
            self.wrong.add(mcp_id, key, hashes)
            return None
        return endpoint, matching


def is_token(text: str) -> bool:
    """Returns whether the text has the form of an access token."""
    return _TOKEN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Users:
    """The users of the deployment. `user_of` gives the UUID of a token's user; it raises `Unauthorized`."""

    sign_in: SignIn
    user_of: Callable[[str], str]
    endpoint: EndpointOfUser

    def find(self, token: str, mcp_id: str | None) -> tuple[str, Endpoint | None]:
        """Returns the token's user, and the endpoint; None for the library.

        `Unauthorized` for a wrong token. `Forbidden` if the user may not search there, whether or not there is such an
        endpoint.
        """
        if not self.sign_in.accepts_users():
            raise Unauthorized
        user = self.user_of(token)
        if mcp_id is None:
            if not self.sign_in.opens_library:
                raise Forbidden("This library opens with a key only. Ask its operator for one (LibraryForUsers)")
            return user, None
        endpoint = self.endpoint(mcp_id, user)
        if endpoint is None:
            raise Forbidden("You are no member of the project of such an endpoint. An owner can add you")
        return user, endpoint
