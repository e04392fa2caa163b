"""A user of the sample console, in the stand-in for Supabase Auth."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import jwt
from sakuin.console.forms import ROOT
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin.platform.supabase.tokens import UserTokens
from sakuin_local.serving import served
from sakuin_local.supabase.auth.application import auth_of, gateway
from starlette.responses import PlainTextResponse

from tests.worlds import World

EMAIL, PASSWORD = "yamada@example.test", "correct horse"
_AGENT = {"client_name": "Claude Code", "token_endpoint_auth_method": "none"}
_PKCE = {"code_challenge": "c" * 43, "code_challenge_method": "S256", "state": "s"}


@dataclass(frozen=True, slots=True)
class SharedSecret:
    """Signs as projects did before they had key pairs: the database of tests knows no other signature."""

    secret: str

    def sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self.secret, "HS256")

    def claims_of(self, token: str) -> dict[str, Any]:
        unread: Any = {"verify_aud": False, "verify_exp": False, "verify_iat": False}
        claims: dict[str, Any] = jwt.decode(token, self.secret, ["HS256"], options=unread)
        return claims


@dataclass(frozen=True, slots=True)
class SampleUsers:
    """Supabase Auth with one user."""

    id: str
    auth: SupabaseAuth

    @classmethod
    @contextmanager
    def served(cls, world: World, site: str) -> Iterator["SampleUsers"]:
        """Serves Supabase Auth while the block runs; the console is at `site`."""
        key: Any = SharedSecret(world.database.jwt_secret)
        service = auth_of(None, key, url=site, site_url=site, api_keys={"publishable"})
        user = service.sessions.records.add_user(EMAIL, PASSWORD)
        with served(gateway(service, PlainTextResponse(""))) as port, httpx.Client() as http:
            yield cls(user.id, SupabaseAuth(f"http://127.0.0.1:{port}", lambda: "publishable", http))

    def sign_in(self) -> UserTokens:
        """Returns the tokens of a new session."""
        tokens = self.auth.sign_in(EMAIL, PASSWORD)
        assert tokens is not None
        return tokens

    def agent_asks(self, redirect_uri: str) -> str:
        """Lets an agent ask for access; returns the path of the page to which Supabase Auth leads the browser."""
        service = f"{self.auth.url}/auth/v1/oauth"
        registered = self.auth.http.post(f"{service}/clients/register", json=_AGENT | {"redirect_uris": [redirect_uri]})
        asked = {"client_id": registered.json()["client_id"], "redirect_uri": redirect_uri, **_PKCE}
        answer = self.auth.http.get(f"{service}/authorize", params=asked)
        return f"{ROOT}{answer.headers['location'].partition(ROOT)[2]}"
