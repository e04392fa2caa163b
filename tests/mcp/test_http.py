"""Who may call, and how: one POST, one JSON answer, no sessions."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sakuin.errors import Unavailable
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.server import knowledge_server

from tests.events import AUTHORIZATION, ENDPOINT, ENDPOINT_KEY, KEY, event, ring

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}
ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@asynccontextmanager
async def running(tools: KnowledgeTools, origins: tuple[str, ...]) -> AsyncIterator[httpx.AsyncClient]:
    app = McpApp(knowledge_server(tools, "1.2.3"), ring, origins)
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
    async with app.sessions.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
        yield client


def ask(
    tools: KnowledgeTools,
    body: Any = CALL,
    *,
    method: str = "POST",
    path: str = "/mcp",
    origins: tuple[str, ...] = (),
    **headers: str,
) -> httpx.Response:
    """One request with the key, unless `headers` say otherwise (an empty one is left out)."""
    wanted = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in {**ACCEPT, **AUTHORIZATION, **wanted}.items() if value}

    async def request() -> httpx.Response:
        async with running(tools, origins) as client:
            return await client.request(method, path, json=body, headers=sent)

    return asyncio.run(request())


@pytest.mark.parametrize(
    "key", ["", "Bearer wrong", "Bearer ", "Basic abc", "sk_sakuin_the-key-in-this-file-opens-nothing"]
)
def test_a_missing_or_wrong_key_is_401_and_says_what_to_send(tools: KnowledgeTools, key: str) -> None:
    answer = ask(tools, Authorization=key)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "Authorization: Bearer" in answer.text


def test_the_scheme_may_be_written_in_any_case(tools: KnowledgeTools) -> None:
    key = AUTHORIZATION["Authorization"].replace("Bearer", "bearer")
    assert ask(tools, Authorization=key).status_code == 200


def test_a_key_in_the_url_opens_nothing(tools: KnowledgeTools) -> None:
    key = AUTHORIZATION["Authorization"].removeprefix("Bearer ")
    assert ask(tools, path=f"/mcp?key={key}&authorization=Bearer {key}", Authorization="").status_code == 401


@pytest.mark.parametrize("path", ["/mcp/xyz", "/mcp/11111111-1111-1111-1111-111111111111", "/mcp/../x", "/mcpx"])
def test_the_knowledge_key_opens_no_other_endpoint(tools: KnowledgeTools, path: str) -> None:
    assert ask(tools, path=path).status_code == 401


def test_a_trailing_slash_is_the_same_endpoint(tools: KnowledgeTools) -> None:
    assert ask(tools, path="/mcp/").status_code == 200


def test_a_foreign_origin_is_403_before_anything_else(tools: KnowledgeTools) -> None:
    assert ask(tools, Origin="https://evil.example").status_code == 403
    assert ask(tools, Origin="https://evil.example", Authorization="").status_code == 403
    assert ask(tools, Origin="null", method="GET").status_code == 403


def test_an_allowed_origin_may_call(tools: KnowledgeTools) -> None:
    assert ask(tools, Origin="https://a.example", origins=("https://a.example",)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_everything_but_post_is_405_and_names_post(tools: KnowledgeTools, method: str) -> None:
    answer = ask(tools, None, method=method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_notification_is_202_and_empty(tools: KnowledgeTools) -> None:
    answer = ask(tools, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_handshake_revision_is_answered_in_its_own_without_a_session(tools: KnowledgeTools, version: str) -> None:
    body = json.loads(json.dumps(INITIALIZE))
    body["params"]["protocolVersion"] = version
    answer = ask(tools, body, MCP_Protocol_Version="")
    assert answer.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in answer.headers
    result = answer.json()["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["version"] == "1.2.3"
    assert "learns" in result["instructions"]


def test_the_revision_without_a_handshake_is_answered(tools: KnowledgeTools) -> None:
    recorded = event("mcp.list_tools")
    headers = {name: value for name, value in recorded["headers"].items() if name.startswith("mcp-")}
    answer = ask(
        tools,
        json.loads(recorded["body"]),
        **{name.replace("-", "_"): v for name, v in headers.items()},
        MCP_Protocol_Version="",
    )
    result = answer.json()["result"]
    assert [tool["name"] for tool in result["tools"]] == ["search_knowledge", "get_chunk_by_id", "list_concepts"]
    assert result["cacheScope"] == "private"
    assert result["ttlMs"] > 0


def test_an_unknown_tool_is_a_protocol_error_and_wrong_arguments_are_not(tools: KnowledgeTools) -> None:
    unknown = ask(tools, CALL | {"params": {"name": "drop_table", "arguments": {}}}).json()
    assert unknown["error"]["code"] == -32602
    wrong = ask(tools, CALL | {"params": {"name": "search_knowledge", "arguments": {"top_k": 1}}}).json()
    assert wrong["result"]["isError"] is True
    assert "structuredContent" not in wrong["result"]


def test_a_number_that_is_no_json_number_is_refused_and_not_an_internal_error(tools: KnowledgeTools) -> None:
    async def request() -> httpx.Response:
        body = json.dumps(CALL | {"params": {"name": "search_knowledge", "arguments": {"query": "a", "top_k": 7}}})
        async with running(tools, ()) as client:
            headers = {**ACCEPT, **AUTHORIZATION, "Content-Type": "application/json"}
            return await client.post("/mcp", content=body.replace("7}", "1e999}"), headers=headers)

    answer = asyncio.run(request()).json()
    assert "'top_k'" in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("body", [[], "text", {"jsonrpc": "2.0"}, {"id": 1}])
def test_what_is_no_request_is_a_client_error(tools: KnowledgeTools, body: object) -> None:
    assert 400 <= ask(tools, body).status_code < 500


def test_the_key_that_opened_is_noted_and_a_wrong_one_is_not(tools: KnowledgeTools) -> None:
    noted: list[str] = []

    async def requests() -> None:
        app = McpApp(knowledge_server(tools, "1.2.3"), ring, used=noted.append)
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with app.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
            for key in (AUTHORIZATION, {"Authorization": "Bearer wrong"}, {}):
                await client.post("/mcp", json=CALL, headers={**ACCEPT, **key})

    asyncio.run(requests())
    assert noted == ring.hashes()


@pytest.mark.parametrize(("path", "key"), [("/mcp", KEY), (f"/mcp/{ENDPOINT}", ENDPOINT_KEY)])
def test_when_nobody_knows_the_keys_a_caller_is_told_to_come_back_and_nothing_else(
    tools: KnowledgeTools, path: str, key: str
) -> None:
    class Away:
        def hashes(self, *, newer: bool = False) -> list[str]:
            raise Unavailable("The secret sakuin/prod cannot be read")

    def away(_mcp_id: str) -> Any:
        raise Unavailable("The secret sakuin/prod cannot be read")

    app = McpApp(knowledge_server(tools, "1.2.3"), Away(), endpoint=away)

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
            return await client.post(path, json=CALL, headers={**ACCEPT, "Authorization": f"Bearer {key}"})

    answer = asyncio.run(request())
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "sakuin/prod" not in answer.text
