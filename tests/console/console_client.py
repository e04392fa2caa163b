"""A browser without scripts: keeps cookies, follows redirects, and sends the forms of the pages that it sees."""

import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from html import unescape
from typing import Any, Self

import httpx
from fastapi import APIRouter
from sakuin.console.app import console_app
from sakuin.console.pages import operation, sign_in
from sakuin.console.sessions import Refresh, Sessions, SessionTokens
from sakuin.console.shell import Shell
from sakuin.console.supabase_auth import SupabaseAuth
from sakuin.http.app import rest_api
from sakuin.platform.asgi import at_first_request
from starlette.testclient import TestClient

from tests.events import KEY, Ring
from tests.worlds import World

ORIGIN = "http://testserver"


class ConsoleClient:
    """The console of a world. `routes` make the routers of pages from the shell; `ring` has the admin keys."""

    def __init__(
        self,
        world: World,
        *routes: Any,
        ring: Ring | None = None,
        refresh: Refresh = lambda tokens: tokens,
        auth: SupabaseAuth | None = None,
        language: str = "en",
        counts: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self.world = world
        self.ring = ring or Ring()
        self.sessions = Sessions(world.client, self.ring, refresh)
        self.shell = Shell(self.sessions, "1.2.3", counts=counts)
        self.used: list[str] = []
        self.routers: list[APIRouter] = [sign_in.routes(self.shell, self.used.append, auth)]
        self.routers += [make(self.shell) for make in routes]
        app = console_app(self.shell, *self.routers)
        rest = rest_api(world.library, self.ring, "1.2.3", console=at_first_request(lambda: app))
        self.http = _browser(rest, language)

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


def first_page(world: World) -> Callable[[Shell], APIRouter]:
    """Returns what makes the routes of the pages of operation."""
    return partial(operation.routes, operation=world.operation)
