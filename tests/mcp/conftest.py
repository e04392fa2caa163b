"""The function `mcp` over a small library."""

import psycopg
import pytest
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server

from tests.emptied import emptied
from tests.events import ring
from tests.mcp.wire import PAGE, Ask
from tests.world import Worlds, with_a_page


@pytest.fixture(scope="module")
def ask(a_world: Worlds, sql: psycopg.Connection) -> Ask:
    """Sends requests to the function. They change nothing: a module has one library."""
    emptied(sql)
    world = with_a_page(a_world)
    return Ask(McpApp(knowledge_server(KnowledgeTools(world, world.read), "1.2.3"), ring, (PAGE,)))
