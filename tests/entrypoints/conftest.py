"""A small library that the entry points speak for."""

import pytest
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin_local.supabase.database import Database

from tests.builders import a_page
from tests.tables.conftest import TableWorld, stand_in, world_of
from tests.world import World, Worlds

__all__ = ["stand_in"]

KEY = "junior/二次方程式の解き方_教材.html"
BOXES = {
    "rule-quadratic-formula": "解の公式: 二次方程式を公式で解きたいときは、係数を読みとって公式に代入する。",
    "method-tasukigake": "たすき掛け: 二次式を二つの因数に分ける。",
    "ex-1": "噴水の高さ: 水の高さを時刻で表した式を調べる。",
}


@pytest.fixture
def world(a_world: Worlds, empty_database: Database) -> World:
    """One page of three explanations. It may share its database with `tables`."""
    world = a_world(empty=False, base_url="/school_asset")
    world.put(KEY, a_page(BOXES, head="<meta name='category' content='代数'>"))
    return world


@pytest.fixture
def tools(world: World) -> KnowledgeTools:
    return KnowledgeTools(world, world.read)


@pytest.fixture
def tables(empty_database: Database, stand_in: str) -> TableWorld:
    """A project with Tables, on the real database."""
    return world_of(empty_database, stand_in)
