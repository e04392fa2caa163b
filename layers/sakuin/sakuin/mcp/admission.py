"""The admission of a request: its caller by key or access token, the length of its body, the searches in a minute."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException

from sakuin.errors import NotFound, SakuinError, Unauthorized, Unavailable
from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.mcp.callers import Caller, EndpointKeys, Users, WrongKeys, is_token
from sakuin.platform.keys import RecordUse, key_of, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.tables.model import Endpoint

# A question has a kilobyte or two; the limit of Lambda is six megabytes.
LONGEST_BODY = 1_000_000
# Takes so many searches of a payer; `OverLimit` if too few are left.
Allow = Callable[[str, int], None]
# All callers without a key together: an address costs nothing, so one bucket for each would limit nobody.
PUBLIC = "public"
# As many digits of a key's hash as `sakuin keys list` shows.
_KEY_DIGITS = 12

logger = logging.getLogger(__name__)


def _no_endpoints() -> EndpointKeys:
    return EndpointKeys(lambda _mcp_id, _key_hash: ((), None), WrongKeys(time.monotonic))


@dataclass(frozen=True, slots=True)
class Admission:
    """Admits callers with a key of the library, a key of an endpoint, or an access token if `users` may sign in.

    `fixed_of` finds the filter that a key of the library fixes, by its hash; `record_use` records the use of a key.
    `allow` counts searches, `allow_public` those of callers without a key; None: nobody searches without a key.
    `set_caller` takes the project and the key of a request before its questions are answered.
    """

    keys: KeyRing
    endpoint_keys: EndpointKeys = field(default_factory=_no_endpoints)
    users: Users | None = None
    fixed_of: Callable[[str], Filters] = lambda _key_hash: EVERYTHING
    record_use: RecordUse = lambda _key_hash: None
    allow: Allow = lambda _payer, _searches: None
    allow_public: Allow | None = None
    longest_body: int = LONGEST_BODY
    set_caller: Callable[[str | None, str], None] = lambda _project_id, _key: None

    def public_caller(self) -> Caller:
        """Returns the caller without a key. A key is not looked at: it would decide which limit counts."""
        if self.allow_public is None:
            raise NotFound("This deployment has no public library (PublicLibrary)")
        return Caller(None, EVERYTHING, PUBLIC, PUBLIC, is_public=True)

    def caller(self, headers: Mapping[str, str], mcp_id: str | None = None) -> Caller:
        """Returns the caller. An unknown endpoint gives the same error as a wrong key: ids cannot be guessed."""
        try:
            user = self._signed_in(headers, mcp_id)
            principal, endpoint, fixed = user or self._key_holder(headers, mcp_id)
        except Unavailable as error:
            logger.warning("a key could not be checked", exc_info=True)
            message = "The keys cannot be checked now. Try again in a moment."
            raise Unavailable(message, retry_after=error.retry_after) from error
        except Unauthorized as error:
            message = "Send Authorization: Bearer <key> with a key of this endpoint, or sign in."
            raise Unauthorized(message) from error
        # Of an endpoint not its key or itself: a new key or endpoint would start another minute.
        key = "user" if user else endpoint.id if endpoint else principal[:_KEY_DIGITS]
        return Caller(endpoint, fixed, endpoint.project_id if endpoint else principal, key)

    def enter(self, caller: Caller, body: bytes | None) -> Caller:
        """Returns the caller, who is counted; an error if the body is too long, which is then None."""
        self.set_caller(caller.endpoint.project_id if caller.endpoint else None, caller.key)
        if body is None:
            limit = f"The request is too large; the limit is {self.longest_body:,} bytes (mcp_request_bytes)."
            raise HTTPException(413, limit)
        return caller

    def take(self, caller: Caller, searches: int) -> None:
        """Takes so many searches of a caller; `OverLimit` if too few are left."""
        allow = self.allow_public if caller.is_public else self.allow
        if searches and allow is not None:
            allow(caller.payer, searches)

    def sign_in(self, scope: Mapping[str, Any], path: str) -> str:
        """Returns what a 401 of a path says about signing in."""
        if self.users is None:
            return ""
        try:
            return self.users.sign_in.challenge(scope, path)
        except SakuinError:
            # The well-known locations say the same.
            return ""

    def _signed_in(self, headers: Mapping[str, str], mcp_id: str | None) -> tuple[str, Endpoint | None, Filters] | None:
        """Returns the user of an access token, the endpoint, and no filter; None without a token."""
        token = key_of(headers)
        if self.users is None or token is None or not is_token(token):
            return None
        return *self.users.find(token, mcp_id), EVERYTHING

    def _key_holder(self, headers: Mapping[str, str], mcp_id: str | None) -> tuple[str, Endpoint | None, Filters]:
        """Returns the hash of the valid key, and the endpoint or the filter of the library; else `Unauthorized`."""
        endpoint = None
        if mcp_id is None:
            key_hash = matching_hash(headers, self.keys)
        else:
            endpoint, key_hash = self.endpoint_keys.find(mcp_id, key_of(headers)) or (None, None)
        if key_hash is None:
            raise Unauthorized
        self.record_use(key_hash)
        return key_hash, endpoint, EVERYTHING if endpoint else self.fixed_of(key_hash)
