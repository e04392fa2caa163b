"""Requests to both MCP endpoints, of both eras, that no client sends."""

import json
from typing import Any

import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.hostile.wire import ERAS, PATHS, TOOL_OF, asked, handler_of, is_told, message, routed
from tests.mcp.wire import STATELESS, Ask

WRONG = (None, True, 1, 1.5, "x", "", [], [1], {}, {"a": 1}, -(10**400))


@pytest.fixture(scope="module")
def handler(tools: KnowledgeTools) -> Ask:
    return handler_of(tools)


def call(handler: Ask, arguments: Any, *, era: str, path: str, name: str = "") -> Any:
    tool = name or TOOL_OF[path]
    body = message("tools/call", {"name": tool, "arguments": arguments}, era)
    return asked(handler, body, routed("tools/call", era, tool), path=path)


def good(handler: Ask) -> None:
    for path in PATHS:
        assert call(handler, {"query": "公式"}, era=STATELESS, path=path).status == 200


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("path", PATHS)
def test_arguments_of_any_type_are_answered_or_refused_in_a_sentence(handler: Ask, era: str, path: str) -> None:
    for value in WRONG:
        for arguments in (value, {"query": value}, {"query": "x", "top_k": value}, {"query": "x", "type": value}):
            answer = call(handler, arguments, era=era, path=path)
            assert is_told(answer), (arguments, answer)
    good(handler)


@pytest.mark.parametrize("era", ERAS)
def test_members_of_any_type_are_refused_and_the_next_caller_is_answered(handler: Ask, era: str) -> None:
    for value in WRONG:
        for body in (
            message(value, {}, era),
            message("tools/call", value, era),
            message("tools/call", {"name": value, "arguments": {}}, era),
            message("tools/list", {"cursor": value}, era, id=value),
            json.dumps({"jsonrpc": value, "id": 1, "method": "tools/list"}),
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": value}}),
            json.dumps(value),
        ):
            answer = asked(handler, body, routed("tools/call", era, "search_knowledge"))
            assert is_told(answer), (body, answer)
    good(handler)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("id", ["i" * 100_000, 10**400, -1, "\ud800", "\0", "\u202e"])
def test_an_id_of_any_kind_comes_back_or_is_refused(handler: Ask, era: str, id: object) -> None:
    answer = asked(handler, message("tools/list", {}, era, id=id), routed("tools/list", era))
    assert is_told(answer)
    assert answer.status != 200 or answer.json["id"] == id


@pytest.mark.parametrize(
    "headers",
    [
        *({"content-length": "1"}, {"content-length": "-1"}, {"content-length": "x"}, {"content-length": "9" * 30}),
        *({"content-encoding": "gzip"}, {"transfer-encoding": "chunked"}, {"x-forwarded-for": "\x00"}, {"host": ""}),
        *({"accept": "*/*;q=0"}, {"accept": "x" * 8000}, {"host": "evil.example"}),
        {"content-type": "application/json; charset=utf-16"},
        *({"mcp-protocol-version": "\xff"}, {"mcp-protocol-version": "x" * 8000}, {"mcp-session-id": "../../etc"}),
        *({"mcp-method": "tools/list\r\nx: y"}, {"mcp-name": "=?base64?!!?="}, {"last-event-id": "1"}),
    ],
    ids=lambda headers: ascii(headers)[:50],
)
def test_headers_that_lie_are_refused_or_not_looked_at(handler: Ask, headers: dict[str, str]) -> None:
    for era in (ERAS[0], STATELESS):
        answer = asked(handler, message("tools/list", {}, era), {**routed("tools/list", era), **headers})
        assert is_told(answer), answer
    good(handler)


@pytest.mark.parametrize(
    "authorization",
    [
        *("", "Bearer", "Bearer ", "Bearer x,Bearer y", "Basic eDp5", "Bearer\tx", "bearer " + "x" * 9000, "Bearer é"),
        *("Bearer x\r\n Bearer y", "Bearer 😀", "Token x", "Bearer null", "Bearer [object Object]"),
    ],
    ids=lambda given: ascii(given)[:30],
)
def test_a_key_that_is_none_opens_nothing(handler: Ask, authorization: str) -> None:
    unknown = ("/mcp/../mcp", "/mcp//")
    for path in (*PATHS, *unknown, "/mcp/none", "/mcp/%00", "/mcp/" + "x" * 5000):
        answer = asked(handler, message("tools/list", {}, ERAS[0]), {"authorization": authorization}, path=path)
        assert answer.status == (404 if path in unknown else 401), path
