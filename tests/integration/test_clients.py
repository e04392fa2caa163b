"""Published MCP clients on both kinds of endpoint, in three modes: from an upload to the element that answers."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

import fastmcp
import httpx2
import pytest
from bs4 import BeautifulSoup
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sakuin.mcp.knowledge.texts import as_markdown

from tests.builders import a_page
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
    tool = deployed.printed("tool", "new", *asked)
    assert tool["search_index"]["state"] == "ready"
    made = deployed.printed("endpoint", "new", "--name", "clients", "--tool", tool["tool_id"])
    knowledge = ["search_knowledge", "get_chunk_by_id", "list_concepts", "list_materials", "read_page", "find_text"]
    listed = ["find_articles"]
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
    if endpoint == "knowledge":
        assert answer.text.startswith(answer.structured["note"])
        assert all(result["url"] in answer.text for result in answer.structured["results"])
    else:
        assert json.loads(answer.text) == as_text(answer.structured)
        first = answer.structured["results"][0]
        assert (first["json_path"], first["chunk"]["chunk_text"] in TEXT) == ("/0/content", True)


Mode = Literal["auto", "legacy", "2026-07-28"]


async def called(deployed: Deployed, mode: Mode, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer of one tool call by the published client; the text part is the same answer as Markdown."""
    headers = {"Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{deployed.url}/mcp", http_client=http), mode=mode) as client,
    ):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
        answer: dict[str, Any] = result.structured_content
        assert result.content[0].text == as_markdown(tool, answer)
        return answer


@pytest.mark.scenario("knowledge-index/search-knowledge-runs-a-search")
@pytest.mark.scenario("knowledge-index/a-link-carries-its-anchor")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_client_follows_the_link_of_an_upload_to_its_element(deployed: Deployed, mode: Mode) -> None:
    key = f"往復/{mode}_教材.html"
    # The same text on several pages is one result.
    star = {"rule-star-angle-sum": f"星形五角形の角の和: 先端の五つの角の和は 180 度になる。{mode}"}
    assert deployed.put(key, a_page(star, title="星形")) == "applied"
    answer = await called(deployed, mode, "search_knowledge", {"query": "星形五角形の先端の角の和", "top_k": 10})
    hit = next(hit for hit in answer["results"] if f"往復/{mode}_教材" in unquote(hit["url"]))
    path, _, anchor = unquote(hit["url"].removeprefix(deployed.url)).rpartition("#")
    stored = deployed.client("s3").get_object(Bucket=deployed.bucket, Key=path.removeprefix("/"))["Body"].read()
    element = BeautifulSoup(stored, "lxml").find(id=anchor)
    assert element is not None
    assert "180 度" in element.get_text()


@pytest.mark.scenario("knowledge-index/a-similar-concept-is-found")
@pytest.mark.scenario("knowledge-index/a-result-has-every-field")
@pytest.mark.scenario("knowledge-index/an-agent-can-say-what-is-learnt")
async def test_a_goal_in_plain_words_finds_the_formula(deployed: Deployed) -> None:
    answer = await called(deployed, "auto", "search_knowledge", {"query": "二次方程式を公式で解きたい"})
    first = answer["results"][0]
    assert first["title"] == "解の公式"
    assert first["url"] == f"{deployed.url}/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert 3 <= len(first["learns"]) <= 5
    # A probability that counts near misses; docs/measurements/quality.md has its reliability.
    assert 0.7 <= first["similarity"] <= 1
    assert 50 <= len(first["excerpt"]) <= 110


def test_no_key_or_setting_of_the_stack_is_in_its_logs(deployed: Deployed) -> None:
    logs = deployed.client("logs")
    secrets = [value for name, value in deployed.environment.items() if re.search(r"_KEY$", name) and len(value) > 20]
    for group in logs.describe_log_groups()["logGroups"]:
        for found in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
            text = "\n".join(event["message"] for event in found["events"])
            assert not [secret for secret in secrets if secret in text]
