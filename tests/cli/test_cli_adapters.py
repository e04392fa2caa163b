"""What the commands' adapters make of a deployment's answers."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sakuin.domain.keys import hash_of_key
from sakuin.entrypoints.mcp_http import McpApp, knowledge_server
from sakuin.entrypoints.mcp_tools import KnowledgeTools
from sakuin.errors import Invalid, Misconfigured, NotFound, SakuinError, Unavailable
from sakuin_cli.agent import McpEndpoint
from sakuin_cli.client import RestLibrary
from sakuin_cli.ports import AgentEndpoint
from sakuin_local.serving import served

from tests.builders import a_page
from tests.in_memory.desk import PEPPER, MemoryEndpoint, library_of
from tests.in_memory.world import World

KEY = "sk_sakuin_agent"


def a_library(status: int, body: Any = None, text: str | None = None) -> RestLibrary:
    """One behind which every question has the same answer."""
    content = {"text": text} if text is not None else {"json": body}
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, **content))
    return RestLibrary(httpx.Client(transport=transport, base_url="http://sakuin"))


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, Misconfigured, "Correct SAKUIN_ADMIN_KEY"),
        (404, NotFound, "Is SAKUIN_URL the address of a Sakuin?"),
        (422, Invalid, "refused the request"),
        (502, Unavailable, "Try again"),
    ],
)
def test_refusals_say_what_to_do(status: int, kind: type[SakuinError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        a_library(status, text="<html>").counts()


def test_a_deployments_own_sentence_is_passed_on() -> None:
    with pytest.raises(Unavailable, match="Supabase did not answer"):
        a_library(503, {"detail": "Supabase did not answer"}).counts()


def test_another_program_at_the_address_is_noticed() -> None:
    with pytest.raises(Misconfigured, match="is not Sakuin"):
        a_library(200, text="<html>hello</html>").counts()


def test_more_versions_than_a_request_may_have_are_asked_in_portions() -> None:
    world = World()
    version = world.put("x.html", a_page({"rule-a": "名: 文"}))
    asked = [("x.html", version), *((f"{number}.html", "v") for number in range(1200))]
    assert [receipt.outcome for receipt in library_of(world).receipts(asked)] == ["applied"]


class _WithSessions:
    """An MCP application that opens its session manager for each request, as a function does for its life."""

    def __init__(self, tools: KnowledgeTools) -> None:
        self._tools = tools

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = McpApp(knowledge_server(self._tools, "test"), lambda newer=False: ([hash_of_key(KEY, PEPPER)], (PEPPER,)))
        async with app.sessions.run():
            await app(scope, receive, send)


@pytest.fixture(scope="module")
def tools() -> KnowledgeTools:
    world = World()
    world.put("x.html", a_page({"rule-formula": "解の公式: 二次方程式を解く公式です。"}))
    return KnowledgeTools(world.search, world.read)


@pytest.fixture(scope="module")
def url(tools: KnowledgeTools) -> Iterator[str]:
    with served(_WithSessions(tools)) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(params=["memory", "wire"])
def endpoint(request: pytest.FixtureRequest, tools: KnowledgeTools, url: str) -> AgentEndpoint:
    return MemoryEndpoint(tools) if request.param == "memory" else McpEndpoint(url, KEY)


def test_an_answer_is_the_structured_one(endpoint: AgentEndpoint) -> None:
    answer: Any = endpoint.call("search_knowledge", {"query": "解の公式", "top_k": 1})
    assert [result["id"] for result in answer["results"]] == ["x#rule-formula"]


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("get_chunk_by_id", {"id": "x#rule-gone"}, "x#rule-gone"),
        ("search_knowledge", {"query": " "}, "blank"),
        ("nope", {}, "Unknown tool: nope"),
    ],
)
def test_a_failure_of_a_tool_is_its_sentence(
    endpoint: AgentEndpoint, tool: str, arguments: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Invalid, match=sentence):
        endpoint.call(tool, arguments)


def test_a_wrong_key_and_a_wrong_address_say_which_setting(url: str) -> None:
    with pytest.raises(Misconfigured, match="SAKUIN_API_KEY"):
        McpEndpoint(url, "wrong").call("search_knowledge", {"query": "x"})
    with pytest.raises(Unavailable, match="SAKUIN_URL"):
        McpEndpoint("http://127.0.0.1:1/mcp", KEY).call("search_knowledge", {"query": "x"})


def test_a_key_is_never_shown() -> None:
    assert KEY not in repr(McpEndpoint("http://127.0.0.1:1/mcp", KEY))
