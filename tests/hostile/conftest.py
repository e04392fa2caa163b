"""A library of one good page, for hostile input."""

import pytest
from sakuin.language.analysis import analyze
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.builders import a_page
from tests.worlds import World, Worlds


@pytest.fixture(scope="session", autouse=True)
def dictionary_loaded() -> None:
    """Loads Sudachi's dictionary before growth is measured."""
    analyze("二次方程式")


# Hostile requests change nothing: a module has one library.
@pytest.fixture(scope="module")
def world(a_world: Worlds) -> World:
    world = a_world(base_url="/school_asset")
    world.put("junior/良い頁.html", a_page({"rule-good": "解の公式: 公式に代入する。"}))
    return world


@pytest.fixture(scope="module")
def tools(world: World) -> KnowledgeTools:
    return KnowledgeTools(world, world.read)
