"""Requests to both MCP endpoints, of both eras, that no client sends."""

from typing import Any

import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.hostile.pages import INPUTS
from tests.hostile.wire import ERAS, PATHS, TOOL_OF, asked, handler_of, is_told, message, routed
from tests.mcp.wire import STATELESS, Ask


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
@pytest.mark.parametrize("id", ["i" * 100_000, 10**400, -1, "\ud800", "\0", "\u202e"])
def test_an_id_of_any_kind_comes_back_or_is_refused(handler: Ask, era: str, id: object) -> None:
    answer = asked(handler, message("tools/list", {}, era, id=id), routed("tools/list", era))
    assert is_told(answer)
    assert answer.status != 200 or answer.json["id"] == id


@pytest.mark.parametrize(
    "headers",
    [*INPUTS["headers"], {"accept": "x" * 8000}, {"mcp-protocol-version": "x" * 8000}],
    ids=lambda headers: ascii(headers)[:50],
)
def test_headers_that_lie_are_refused_or_not_looked_at(handler: Ask, headers: dict[str, str]) -> None:
    for era in (ERAS[0], STATELESS):
        answer = asked(handler, message("tools/list", {}, era), {**routed("tools/list", era), **headers})
        assert is_told(answer), answer
    good(handler)


@pytest.mark.parametrize("authorization", [*INPUTS["authorizations"], "bearer " + "x" * 9000])
def test_a_key_that_is_none_opens_nothing(handler: Ask, authorization: str) -> None:
    unknown = ("/mcp/../mcp", "/mcp//")
    for path in (*PATHS, *unknown, "/mcp/none", "/mcp/%00", "/mcp/" + "x" * 5000):
        answer = asked(handler, message("tools/list", {}, ERAS[0]), {"authorization": authorization}, path=path)
        assert answer.status == (404 if path in unknown else 401), path
