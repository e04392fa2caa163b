"""The function `mcp` over a small library."""

import pytest
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server

from tests.events import ring
from tests.mcp.wire import PAGE, Ask


@pytest.fixture
def ask(tools: KnowledgeTools) -> Ask:
    """Sends requests to the function."""
    return Ask(McpApp(knowledge_server(tools, "1.2.3"), ring, (PAGE,)))
