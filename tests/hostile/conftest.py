"""What hostile input may cost at most: a test that hangs is ended, and fails."""

from collections.abc import Generator

import pytest
from sakuin.language.analysis import analyze
from sakuin.mcp.knowledge_tools import KnowledgeTools

from tests.builders import a_page
from tests.hanging import ended_when_it_hangs
from tests.world import World, Worlds

# A net under everything, not a measure: all tests together take less.
HUNG_SECONDS = 600


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with ended_when_it_hangs(HUNG_SECONDS):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def dictionary_loaded() -> None:
    """The first text loads Sudachi's dictionary, which no measure of growth should see."""
    analyze("二次方程式")


@pytest.fixture
def world(a_world: Worlds) -> World:
    """A library of one good page."""
    world = a_world(base_url="/school_asset")
    world.put("junior/良い頁.html", a_page({"rule-good": "解の公式: 公式に代入する。"}))
    return world


@pytest.fixture
def tools(world: World) -> KnowledgeTools:
    return KnowledgeTools(world, world.read)
