"""Requests that are answered without the SDK's transport, beside the answers of that transport."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sakuin.mcp.app import McpApp
from sakuin.mcp.callers import Caller
from sakuin.mcp.exchange import exchange_of
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.server import CALLER, knowledge_server
from sakuin.platform.asgi import Receive, Scope, Send

from tests.events import ring
from tests.mcp.wire import Ask

_REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
_CALL = {"name": "list_concepts", "arguments": {"limit": 2}}
_REQUESTS = [
    _REQUEST,
    {"jsonrpc": "2.0", "id": "七", "method": "ping"},
    _REQUEST | {"method": "tools/call", "params": _CALL},
    _REQUEST | {"method": "tools/call", "params": _CALL | {"_meta": {"progressToken": 1}}},
    _REQUEST | {"method": "tools/call", "params": {"name": "list_concepts", "arguments": {"type": "poem"}}},
    _REQUEST | {"method": "tools/call", "params": {"name": "no_such_tool"}},
    _REQUEST | {"method": "tools/call", "params": {"arguments": {}}},
    _REQUEST | {"method": "tools/list", "params": {"cursor": 3}},
    _REQUEST | {"method": "resources/read", "params": {"uri": "sakuin://pages/none"}},
    _REQUEST | {"method": "prompts/list"},
    _REQUEST | {"method": "no/such"},
]
_OF_THE_TRANSPORT: list[tuple[object, dict[str, str | None]]] = [
    ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}),
    ({"jsonrpc": "2.0", "id": 7, "result": {}}, {}),
    (_REQUEST | {"result": {}}, {}),
    (_REQUEST | {"method": "initialize"}, {}),
    (_REQUEST, {"accept": "text/event-stream"}),
    (_REQUEST, {"accept": None}),
    (_REQUEST, {"content_type": "text/plain"}),
    ('{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', {}),
    ('{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"cursor": "\\ud800"}}', {}),
]


class _Transport:
    """The SDK's transport alone, with a caller who may read everything."""

    def __init__(self, app: McpApp) -> None:
        self.app, self.run = app, app.run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, CALLER: Caller(None, "", "key:own", "own", "own")}
        await self.app.sessions.handle_request(scope, receive, send)


@pytest.fixture(scope="module")
def ask_transport(tools: KnowledgeTools) -> Ask:
    """Sends requests to the SDK's transport."""
    transport: Any = _Transport(McpApp(knowledge_server(tools, "1.2.3"), ring))
    return Ask(transport)


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25", None])
@pytest.mark.parametrize("request_", _REQUESTS)
def test_a_request_has_the_answer_of_the_sdks_transport(
    ask: Ask, ask_transport: Ask, request_: object, version: str | None
) -> None:
    answer, expected = (each(request_, mcp_protocol_version=version) for each in (ask, ask_transport))
    assert (answer.status, answer.json) == (expected.status, expected.json)
    assert answer.headers["content-type"] == expected.headers["content-type"]


@pytest.mark.parametrize(("body", "headers"), _OF_THE_TRANSPORT)
def test_what_is_no_plain_request_is_left_to_the_sdks_transport(
    ask: Ask, ask_transport: Ask, body: object, headers: dict[str, str | None]
) -> None:
    answer, expected = (each(body, **headers) for each in (ask, ask_transport))
    assert (answer.status, answer.body) == (expected.status, expected.body)


def test_a_failure_that_is_not_ours_has_the_answer_of_the_sdks_transport(tools: KnowledgeTools) -> None:
    class Broken:
        def knowledge_search(self, version: str | None = None) -> Any:
            raise RuntimeError("broken")

    server = knowledge_server(replace(tools, searches=Broken()), "1.2.3")
    transport: Any = _Transport(McpApp(server, ring))
    params = {"name": "search_knowledge", "arguments": {"query": "解の公式"}}
    asks = (Ask(McpApp(server, ring)), Ask(transport))
    answer, expected = (each(_REQUEST | {"method": "tools/call", "params": params}) for each in asks)
    assert (answer.status, answer.json) == (expected.status, expected.json)
    assert "error" in answer.json


def test_only_a_plain_request_of_a_revision_with_a_handshake_is_an_exchange() -> None:
    def is_exchange(message: Any, version: bytes = b"2025-11-25") -> bool:
        headers = [(b"content-type", b"application/json; charset=utf-8"), (b"accept", b"*/*")]
        scope = {"type": "http", "headers": [*headers, (b"mcp-protocol-version", version)]}
        return exchange_of(message, json.dumps(message).encode(), scope) is not None

    assert is_exchange(_REQUEST)
    assert not is_exchange(_REQUEST, b"2026-07-28")
    assert not is_exchange(_REQUEST, b"")
    assert not is_exchange([_REQUEST])
    assert not is_exchange(_REQUEST | {"method": "initialize"})
    assert not is_exchange(_REQUEST | {"error": {}})
