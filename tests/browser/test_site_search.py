"""The search box of the documentation's site asks a public library, and falls back to the index of the theme."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin_local.serving import served
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from tests.browser.driving import Browser
from tests.documents import build_site
from tests.mcp.wire import app_of
from tests.worlds import Worlds

PAGES = ("how-to/not-found", "how-to/erase")


@pytest.fixture(scope="module")
def origin(a_world: Worlds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site at an address of its own, with two of its pages in the library that it asks."""
    site, world = tmp_path_factory.mktemp("site"), a_world(base_url="")
    with served(Starlette(routes=[Mount("/", StaticFiles(directory=site, html=True))])) as of_site:
        origin = f"http://127.0.0.1:{of_site}"
        tools = KnowledgeTools(world, world.read)
        library = app_of(tools, origins=(origin,), allow_public=lambda _payer, _searches: None)
        with served(library) as of_library:
            build_site(site, search=f"http://127.0.0.1:{of_library}")
            for page in PAGES:
                world.put(f"{page}.html", Path(site / f"{page}.html").read_bytes())
            yield origin


def test_a_question_leads_to_the_element_that_answers(browser: Browser, origin: str) -> None:
    browser.run("askTheSite", origin=origin, question="Erase a customer", page="/how-to/erase.html")


def test_without_an_answer_of_the_library_the_index_of_the_theme_answers(browser: Browser, origin: str) -> None:
    for failure in ("refused", "busy"):
        browser.run("askTheSiteWithoutLibrary", origin=origin, question="Erase a customer", failure=failure)


def test_a_site_without_an_address_asks_nobody(tmp_path: Path) -> None:
    build_site(tmp_path)
    assert "sakuin-search" not in (tmp_path / "index.html").read_text("utf-8")
    assert json.loads((tmp_path / "search" / "search_index.json").read_text("utf-8"))["docs"]
