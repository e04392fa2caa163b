"""A browser without scripts: keeps cookies, follows redirects, and sends the forms of the pages that it sees."""

import re
from copy import copy
from dataclasses import replace
from html import unescape
from typing import Any, Self

import httpx
from sakuin.console.app import console_app
from sakuin.console.sessions import Refresh, Sessions
from sakuin.http.access import RestServices
from sakuin.http.app import rest_api
from sakuin.platform.supabase.auth import SessionTokens, SupabaseAuth
from sakuin.wiring.console import shell_of
from starlette.testclient import TestClient

from tests.events import KEY
from tests.worlds import World

ORIGIN = "http://testserver"


class ConsoleClient:
    """The console of a world, or of `rest`; `shell` replaces what its pages use."""

    def __init__(
        self,
        world: World,
        rest: RestServices | None = None,
        *,
        refresh: Refresh = lambda tokens: tokens,
        auth: SupabaseAuth | None = None,
        language: str = "en",
        **shell: Any,
    ) -> None:
        self.world, self.rest = world, rest or world.services
        self.sessions = Sessions(world.client, self.rest.admin_keys, refresh)
        auth = auth or SupabaseAuth("", str, httpx.Client())
        self.shell = replace(shell_of(world.clients, self.rest, self.sessions, auth), **shell)
        self.app = console_app(self.shell)
        self.http = _browser(rest_api(self.rest, console=self.app), language)

    def new_visitor(self, language: str = "en") -> Self:
        """The same console in another browser, in which nobody is signed in."""
        other = copy(self)
        other.http = _browser(self.http.app, language)
        return other

    def get(self, path: str, **options: Any) -> httpx.Response:
        """The answer of a path below the console."""
        return self.http.get(f"/console{path}", **options)

    def post(self, path: str, fields: dict[str, str], **options: Any) -> httpx.Response:
        """Sends a form, without the token that its page has."""
        return self.http.post(f"/console{path}", data=fields, **options)

    def send(self, page: str, action: str, fields: dict[str, str] | None = None) -> httpx.Response:
        """Opens a page and sends its form with this action, with these fields beside the hidden ones."""
        answer = self.get(page)
        assert answer.status_code == 200, answer.text
        return self.post(action, {**hidden_fields(answer.text, action), **(fields or {})})

    def csrf(self, page: str = "/projects") -> dict[str, str]:
        """The token of the session, from a page."""
        return {"csrf": hidden_fields(self.get(page).text, "/sign-out")["csrf"]}

    def sign_in_admin(self) -> Self:
        """Signs in with the admin key."""
        answer = self.send("/sign-in", "/sign-in", {"key": KEY})
        assert answer.status_code == 200, answer.text
        return self

    def sign_in_user(self, user_id: str) -> Self:
        """Signs in as a user of Supabase Auth, as if the password had been asked."""
        tokens = SessionTokens(user_id, f"{user_id[:8]}@example.test", self.world.token(user_id), "refresh", 2**33)
        session = self.sessions.sign_in_user(tokens)
        self.http.cookies.set("sakuin_console", session.id, domain="testserver.local", path="/console")
        return self


def _browser(app: Any, language: str) -> TestClient:
    return TestClient(app, headers={"Accept-Language": language, "Origin": ORIGIN}, follow_redirects=True)


def hidden_fields(html: str, action: str) -> dict[str, str]:
    """The hidden fields of the page's form with this action; an error if there is no such form."""
    for form in re.findall(r"<form\b.*?</form>", html, re.S):
        if f'action="/console{action}"' in unescape(form):
            inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
            return {unescape(name): unescape(value) for name, value in inputs}
    raise AssertionError(f"the page has no form for {action}")
