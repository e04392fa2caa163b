"""Published MCP clients on both kinds of endpoint: each lists the tools and calls one."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.node import ran
from tests.integration.conftest import Deployed

pytestmark = [pytest.mark.integration, pytest.mark.anyio]

TEXT = "二次方程式の解の公式について説明します。係数を代入して解を求めます。" * 8
OTHER = "一次関数の傾きと切片の話です。解の公式は使いません。" * 10
INSPECTOR = ".tools/clients/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Place:
    """An endpoint, the key that opens it, and the question that is asked of it."""

    url: str
    key: str = field(repr=False)
    tools: list[str]
    call: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a client received: the names of the tools, and the two forms of an answer."""

    tools: list[str]
    structured: dict[str, Any]
    text: str


@pytest.fixture(scope="module")
def places(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Place]:
    """The endpoint of the library, and one of a project with a Search Tool."""
    file = tmp_path_factory.mktemp("table") / "table.json"
    file.write_text(json.dumps({"articles": [{"content": TEXT}, {"content": OTHER}]}, ensure_ascii=False), "utf-8")
    table = deployed.printed("table", "put", str(file))["table_id"]
    asked = ("--table", table, "--json-path", "/articles", "--name", "find_articles", "--wait")
    tool = deployed.printed("tool", "create", *asked)
    assert tool["search_index"]["state"] == "ready"
    made = deployed.printed("mcp", "create", "--name", "clients", "--tool", tool["tool_id"])
    knowledge = ["search_knowledge", "get_chunk_by_id", "list_concepts", "list_materials", "read_page", "find_text"]
    listed = ["find_articles", "read_around"]
    question = {"query": "解の公式", "top_k": 2}
    url = f"{deployed.url}/mcp"
    return {
        "knowledge": Place(url, deployed.environment["SAKUIN_API_KEY"], knowledge, "search_knowledge", question),
        "search tools": Place(f"{url}/{made['mcp_id']}", made["key"], listed, "find_articles", question),
    }


def python(mode: str) -> Callable[[Place], Awaitable[Conversation]]:
    """The client of the Python SDK, in one of its modes."""

    async def conversation(place: Place) -> Conversation:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {place.key}"}, timeout=SECONDS) as http,
            Client(streamable_http_client(place.url, http_client=http), mode=mode) as client,
        ):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool(place.call, place.arguments)
            return Conversation(tools, result.structured_content, result.content[0].text)

    return conversation


async def through_fastmcp(place: Place) -> Conversation:
    transport = StreamableHttpTransport(place.url, headers={"Authorization": f"Bearer {place.key}"})
    async with fastmcp.Client(transport) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool(place.call, place.arguments)
        return Conversation(tools, result.structured_content, result.content[0].text)


def typescript(generation: str) -> Callable[[Place], Awaitable[Conversation]]:
    """The client of the TypeScript SDK: its present package, or the first one, `sdk`."""

    async def conversation(place: Place) -> Conversation:
        asked = (generation, place.url, place.call, json.dumps(place.arguments))
        key = {"SAKUIN_API_KEY": place.key}
        done = ran("tests/clients/conversation.mjs", *asked, seconds=SECONDS, environment=key)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert "never an instruction" in answer["instructions"]
        tools = [tool["name"] for tool in answer["tools"]]
        return Conversation(tools, answer["result"]["structuredContent"], answer["result"]["content"][0]["text"])

    return conversation


async def through_the_inspector(place: Place) -> Conversation:
    """The inspector's command line, which also checks the schemas."""

    def asked(*arguments: str) -> Any:
        key = ("--transport", "http", "--header", f"Authorization: Bearer {place.key}")
        done = ran(INSPECTOR, "--cli", place.url, *key, *arguments, seconds=SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    tools = [tool["name"] for tool in asked("--method", "tools/list", "--strict")["tools"]]
    given = [part for name, value in place.arguments.items() for part in ("--tool-arg", f"{name}={value}")]
    result = asked("--method", "tools/call", "--tool-name", place.call, *given)
    return Conversation(tools, result["structuredContent"], result["content"][0]["text"])


def as_text(structured: dict[str, Any]) -> dict[str, Any]:
    """The text form of an answer: what only programs compare is left out of the chunks of Search Tools."""
    for_programs = {"id", "turbopuffer_namespace", "turbopuffer_doc_id"}
    results = [
        hit | {"chunk": {name: hit["chunk"][name] for name in hit["chunk"] if name not in for_programs}}
        if "chunk" in hit
        else hit
        for hit in structured["results"]
    ]
    return structured | {"results": results}


CLIENTS: dict[str, Callable[[Place], Awaitable[Conversation]]] = {
    "python auto": python("auto"),
    "python legacy": python("legacy"),
    "python 2026-07-28": python("2026-07-28"),
    "typescript": typescript("client"),
    "typescript sdk 1": typescript("sdk"),
    "fastmcp": through_fastmcp,
    "inspector": through_the_inspector,
}


@pytest.mark.scenario("context-search/a-search-tool-is-created-and-bound")
@pytest.mark.parametrize("endpoint", ["knowledge", "search tools"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_lists_the_tools_and_calls_one(places: dict[str, Place], client: str, endpoint: str) -> None:
    place = places[endpoint]
    answer = await CLIENTS[client](place)
    assert answer.tools == place.tools
    assert answer.structured["query"] == "解の公式"
    assert len(answer.structured["results"]) == 2
    assert json.loads(answer.text) == as_text(answer.structured)
    if endpoint == "search tools":
        first = answer.structured["results"][0]
        assert (first["json_path"], first["chunk"]["chunk_text"] in TEXT) == ("/0/content", True)
