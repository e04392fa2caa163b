"""The published client over a real socket, in every mode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server

from tests.events import AUTHORIZATION, ring
from tests.mcp.wire import TOOLS, served

MODES = ("auto", "legacy", "2026-07-28")


def app_of(tools: KnowledgeTools) -> McpApp:
    return McpApp(knowledge_server(tools, "1.2.3"), ring)


@asynccontextmanager
async def connected(tools: KnowledgeTools, mode: str) -> AsyncIterator[Client]:
    async with (
        served(app_of(tools)) as url,
        httpx2.AsyncClient(headers=AUTHORIZATION, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.scenario("knowledge-index/search-knowledge-runs-a-search")
def test_the_client_lists_searches_and_reads(tools: KnowledgeTools, mode: str) -> None:
    async def conversation() -> tuple[list[str], dict[str, Any], dict[str, Any], str]:
        async with connected(tools, mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search_knowledge", {"query": "二次方程式を公式で解きたい"})
            assert found.structured_content is not None
            best = found.structured_content["results"][0]
            read = await client.call_tool("get_chunk_by_id", {"id": best["id"]})
            assert read.structured_content is not None
            return listed, best, read.structured_content["chunk"], str(client.protocol_version)

    listed, best, chunk, version = asyncio.run(conversation())
    assert listed == TOOLS
    assert best["title"] == chunk["title"] == "解の公式"
    assert best["url"] == chunk["url"]
    assert (version == "2026-07-28") == (mode != "legacy")
