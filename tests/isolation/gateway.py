"""Supabase's gateway in front of the real PostgREST: keys of the kind `sb_…`, and what passed through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from sakuin_local.proxy import Proxy, Target
from sakuin_local.same_machine import Receive, Scope, Send
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

Kind = Literal["secret", "search", "publishable"]
# In halves, so that nobody takes them for what they look like.
SECRET, SEARCH, PUBLISHABLE = ("sb_" + kind for kind in ("secret_of-this-test", "secret_of-mcp", "publishable_of-this"))
KINDS: dict[str, Kind] = {SECRET: "secret", SEARCH: "search", PUBLISHABLE: "publishable"}


@dataclass(frozen=True, slots=True)
class Passed:
    """A request: the kind of its key, whether it has a token, and the user for whom it is."""

    path: str
    key: Kind
    with_token: bool
    acting_user: str | None = None


@dataclass
class Gateway:
    """https://supabase.com/docs/guides/api/api-keys: a key that is no JWT goes into `apikey`, and the gateway puts a
    token of its role in the place of a missing `Authorization`; what stands there goes on to PostgREST as it is.

    `jwks` is what Supabase Auth publishes; while it is `broken` PostgREST takes no token at all.
    """

    database: Database
    url: str = ""
    passed: list[Passed] = field(default_factory=list)
    jwks: dict[str, Any] = field(default_factory=lambda: {"keys": []})
    jwks_read: int = 0
    broken: bool = False
    # The functions that are called for users. Service_role may call others, too, with all rights.
    for_users: frozenset[str] = frozenset()
    # The port of what answers for Supabase Auth in the place of `jwks` alone.
    auth_port: int | None = None

    def asked(self) -> list[Passed]:
        """The requests since the last call."""
        passed, self.passed = self.passed, []
        return passed

    def __post_init__(self) -> None:
        # PostgREST closes a connection when it refuses a request without reading its body.
        self._proxy = Proxy(lambda path: Target(self._port(path.decode()), path), keeps_connections=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on."""
        path, headers = scope["path"], Headers(scope=scope)
        if self._port(path) != self.auth_port:
            if (answer := self._answer(path, headers)) is not None:
                await answer(scope, receive, send)
                return
            if "authorization" not in headers:
                keys = Keys(self.database.jwt_secret)
                of_role = {"secret": keys.service, "search": keys.search, "publishable": keys.anon}
                token = f"Bearer {of_role[KINDS[headers['apikey']]]}"
                scope = {**scope, "headers": [*scope["headers"], (b"authorization", token.encode())]}
        await self._proxy(scope, receive, send)

    def _port(self, path: str) -> int:
        if self.auth_port is not None and path.startswith(("/auth/v1/", "/.well-known/")):
            return self.auth_port
        return urlsplit(self.database.rest_url).port or 0

    def _answer(self, path: str, headers: Headers) -> JSONResponse | None:
        """Returns the gateway's own answer, or None for a request that passes."""
        if path == "/auth/v1/.well-known/jwks.json":
            self.jwks_read += 1
            return JSONResponse(self.jwks)
        kind = KINDS.get(headers.get("apikey", ""))
        if kind is None:
            return JSONResponse({"message": "Invalid API key"}, 401)
        if self.broken:
            said = {"code": "PGRST301", "message": "JWSError JWSInvalidSignature", "hint": None, "details": None}
            return JSONResponse(said, 401)
        user = headers.get("x-acting-user")
        if user is not None and kind == "secret" and path.rpartition("/rpc/")[2] not in self.for_users:
            return JSONResponse({"message": f"{path} is not for users"}, 500)
        self.passed.append(Passed(path, kind, "authorization" in headers, user))
        return None


@contextmanager
def gateway(database: Database) -> Iterator[Gateway]:
    """The gateway on a free port, for as long as the block runs."""
    made = Gateway(database)
    with served(made) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made
