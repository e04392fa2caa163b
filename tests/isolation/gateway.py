"""Supabase's gateway in front of the real PostgREST: keys of the kind `sb_…`, and what passed through it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from sakuin_local.proxy import Proxy, Target
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database

Kind = Literal["secret", "publishable"]
# In halves, so that nobody takes them for what they look like.
SECRET, PUBLISHABLE = "sb_" + "secret_of-this-test", "sb_" + "publishable_of-this-test"
KINDS: dict[str, Kind] = {SECRET: "secret", PUBLISHABLE: "publishable"}


@dataclass(frozen=True, slots=True)
class Passed:
    """A request: the kind of its key, and whether it has a token."""

    path: str
    key: Kind
    with_token: bool


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
    # What answers for Supabase Auth in the place of `jwks` alone.
    auth: Any = None

    def asked(self) -> list[Passed]:
        """The requests since the last call."""
        passed, self.passed = self.passed, []
        return passed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.auth is not None and scope["path"].startswith(("/auth/v1/", "/.well-known/")):
            await self.auth(scope, receive, send)
            return
        if scope["path"] == "/auth/v1/.well-known/jwks.json":
            self.jwks_read += 1
            await _answer(send, 200, self.jwks)
            return
        headers = dict(scope["headers"])
        kind = KINDS.get(headers.get(b"apikey", b"").decode())
        if kind is None:
            await _answer(send, 401, {"message": "Invalid API key"})
            return
        if self.broken:
            said = {"code": "PGRST301", "message": "JWSError JWSInvalidSignature", "hint": None, "details": None}
            await _answer(send, 401, said)
            return
        self.passed.append(Passed(scope["path"], kind, b"authorization" in headers))
        if b"authorization" not in headers:
            of_role = self.database.service_key if kind == "secret" else self.database.anon_key
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {of_role}".encode())]}
        port = urlsplit(self.database.rest_url).port or 0
        await Proxy(lambda path: Target(port, path))(scope, receive, send)


@contextmanager
def gateway(database: Database) -> Iterator[Gateway]:
    """The gateway on a free port, for as long as the block runs."""
    made = Gateway(database)
    with served(made) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


async def _answer(send: Any, status: int, body: object) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
