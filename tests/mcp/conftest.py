"""The function `mcp` over a small library, which all tests of a file read."""

from collections.abc import Iterator

import psycopg
import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.emptied import emptied
from tests.mcp.wire import PAGE, Ask, app_of
from tests.worlds import World, Worlds, as_before, with_a_page


@pytest.fixture(scope="module")
def world(a_world: Worlds, sql: psycopg.Connection) -> World:
    """A library with one page of three explanations."""
    emptied(sql)
    return with_a_page(a_world)


@pytest.fixture
def changes(world: World) -> Iterator[None]:
    """For a test that changes the library or makes another one: it is as before afterwards."""
    with as_before(world):
        yield


@pytest.fixture(scope="module")
def tools(world: World) -> KnowledgeTools:
    """The tools of the knowledge endpoint over that library."""
    return KnowledgeTools(world, world.read)


@pytest.fixture(scope="module")
def ask(tools: KnowledgeTools) -> Ask:
    """Sends requests to the function."""
    return Ask(app_of(tools, origins=(PAGE,)))
