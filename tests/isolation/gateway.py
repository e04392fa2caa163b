"""Supabase's gateway in front of the real PostgREST: keys of the kind `sb_…`, and what passed through it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from sakuin_local.supabase.database import Database
from sakuin_local.supabase.tokens import Keys

from tests.rest_prefix import PassedOn, passing_on, without_prefix

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

    def route(self, head: bytes) -> PassedOn | bytes:
        """Gives a request its target, or its answer."""
        line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        path = line.split(" ")[1].partition("?")[0]
        if self.auth_port is not None and path.startswith(("/auth/v1/", "/.well-known/")):
            return PassedOn(self.auth_port, head)
        if path == "/auth/v1/.well-known/jwks.json":
            self.jwks_read += 1
            return _answer("200 OK", self.jwks)
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
        kind = KINDS.get(headers.get("apikey", ""))
        if kind is None:
            return _answer("401 Unauthorized", {"message": "Invalid API key"})
        if self.broken:
            said = {"code": "PGRST301", "message": "JWSError JWSInvalidSignature", "hint": None, "details": None}
            return _answer("401 Unauthorized", said)
        user = headers.get("x-acting-user")
        if user is not None and kind == "secret" and path.rpartition("/rpc/")[2] not in self.for_users:
            return _answer("500 Internal Server Error", {"message": f"{path} is not for users"})
        self.passed.append(Passed(path, kind, "authorization" in headers, user))
        if "authorization" not in headers:
            keys = Keys(self.database.jwt_secret)
            of_role = {"secret": keys.service, "search": keys.search, "publishable": keys.anon}[kind]
            head = head[:-2] + f"authorization: Bearer {of_role}\r\n\r\n".encode()
        return PassedOn(urlsplit(self.database.rest_url).port or 0, without_prefix(head), is_alone=True)


@contextmanager
def gateway(database: Database) -> Iterator[Gateway]:
    """The gateway on a free port, for as long as the block runs."""
    made = Gateway(database)
    with passing_on(made.route) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


def _answer(status: str, body: object) -> bytes:
    sent = json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent
