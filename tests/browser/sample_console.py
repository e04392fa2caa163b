"""The console over the sample content, served to a browser."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from fastapi.routing import APIRoute, iter_route_contexts
from sakuin.console.forms import ROOT
from sakuin.platform.keys import DeploymentKey, hash_of_key
from sakuin.platform.supabase.auth import SupabaseAuth
from sakuin.texts.catalogue import LANGUAGES
from sakuin_local.samples import samples_in
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from tests.browser.driving import Browser
from tests.browser.sample_content import SAMPLES, Content, add_content
from tests.browser.sample_users import SampleUsers
from tests.console.console_client import ConsoleClient
from tests.doubles.playground import asking_mcp
from tests.events import KEY
from tests.worlds import TableWorld, World

# These lead to other pages, or are none.
_NO_PAGES = {"/static/{name}", "/language/{language}"}


class Look(NamedTuple):
    """How a page is shown. `scheme` is `light` or `dark`."""

    language: str = "en"
    scheme: str = "light"
    phone: bool = False

    def __str__(self) -> str:
        return f"{self.language}-{self.scheme}-{'phone' if self.phone else 'desktop'}"


LOOKS = tuple(map(Look._make, product(LANGUAGES, ("light", "dark"), (False, True))))


class Visited(NamedTuple):
    """The addresses of pages by the names of `routes`, and what is wrong with them."""

    visited: dict[str, str]
    faults: list[str]


@dataclass(frozen=True, slots=True)
class SampleConsole:
    """A served console, and what it is about."""

    world: World
    content: Content
    users: SampleUsers
    client: ConsoleClient
    origin: str

    @property
    def link(self) -> str:
        """A new link that signs in."""
        return f"{ROOT}/sign-in?code={self.client.sessions.make_link(hash_of_key(KEY))}"

    @property
    def session(self) -> str:
        """The id of a new session of an admin."""
        return self.client.sessions.sign_in_admin(hash_of_key(KEY)).id

    @property
    def session_of_user(self) -> str:
        """The id of a new session of the owner of the project."""
        return self.client.sessions.sign_in_user(self.users.sign_in()).id

    @property
    def routes(self) -> dict[str, str]:
        """The regular expression of the path of each page, by a name that can be one of a file."""
        routes = [context.route for context in iter_route_contexts(self.client.app.routes)]
        found = [each for each in routes if isinstance(each, APIRoute) and "GET" in each.methods]
        found = [each for each in found if each.include_in_schema]
        # JavaScript writes named groups without the P.
        return {
            re.sub(r"\W+", "-", each.path).strip("-") or "overview": f"^{ROOT}{each.path_regex.pattern[1:]}".replace(
                "(?P<", "(?<"
            )
            for each in found
            if each.path not in _NO_PAGES
        }

    def visit_every_page(
        self, browser: Browser, session: str | None, look: Look, *, start: str = f"{ROOT}/", **more: str
    ) -> Visited:
        """Checks every page that links lead to, from `start`, and those of `more`."""
        for message in self.content.sqs.messages:
            # Who looks at dead letters receives them, and after five times they would be gone.
            message.receives = 0
        shown = {**look._asdict(), "more": more}
        given = {"origin": self.origin, "session": session, "start": start, "routes": self.routes}
        return Visited(**browser.run("everyPage", **given, **shown))


@contextmanager
def sample_console(
    world: World, tables: TableWorld, *, is_hostile: bool, language: str = "ja"
) -> Iterator[SampleConsole]:
    """Fills the world and serves its console while the block runs. `is_hostile`: also with texts of attackers."""
    with ExitStack() as stack:
        site = Starlette(routes=[Mount("/school", StaticFiles(directory=samples_in(language).folder))])
        origin = f"http://127.0.0.1:{stack.enter_context(served(site))}"
        world.base_url = f"{origin}/school"
        users = stack.enter_context(SampleUsers.served(world, origin))
        content = add_content(world, tables, users.id, is_hostile=is_hostile, language=language)
        client = client_of(world, tables, content, users.auth, SAMPLES[language].key)
        site.mount("/", client.http.app)
        yield SampleConsole(world, content, users, client, origin)


def client_of(world: World, tables: TableWorld, content: Content, auth: SupabaseAuth, key_name: str) -> ConsoleClient:
    """Returns the console with all its pages, and a key with this name."""
    world.sqs = content.sqs
    rest, ask = world.services, asking_mcp(world, tables)
    gaps = replace(rest.gaps, places=replace(rest.gaps.places, library_for_users=True), ask=ask, is_recorded=True)

    def deployment_keys() -> list[DeploymentKey]:
        stored = [key.shown(None) for key in rest.library_keys.all()]
        return [*stored, DeploymentKey("admin", hash_of_key(KEY), "2026-11-22")]

    rest.library_keys.create(key_name)
    rest = replace(rest, explain=ask, gaps=gaps, deployment_keys=deployment_keys)
    return ConsoleClient(world, rest, auth=auth, refresh=auth.refresh)
