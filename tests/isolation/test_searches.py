"""Searches over REST: the keys, the answers and the limit of MCP."""

from typing import Any
from uuid import uuid4

import pytest

from tests.isolation.conftest import Tenant
from tests.isolation.routes import TOOL_SEARCH
from tests.isolation.stack import REQUEST_ID, Answer, Stack

PAGES = "/v1/search"


def searched(stack: Stack, path: str, bearer: str | None, **arguments: Any) -> Answer:
    return stack.ask("POST", path, {"query": "公式", **arguments}, bearer=bearer)


def test_the_tool_of_another_endpoint_is_unknown_with_a_right_key(stack: Stack, owner: Tenant, other: Tenant) -> None:
    foreign, nowhere = other.ids["tool_id"], str(uuid4())
    unknown, absent = (
        searched(stack, TOOL_SEARCH.format(mcp_id=owner.ids["mcp_id"], tool_id=tool), owner.key)
        for tool in (foreign, nowhere)
    )
    assert (unknown.status, unknown.json["code"], unknown.json["request_id"]) == (404, "not_found", REQUEST_ID)
    assert unknown.body.replace(foreign, nowhere) == absent.body


def test_the_answer_is_the_structured_content_of_the_tool(stack: Stack, owner: Tenant) -> None:
    arguments = {"query": owner.words, "top_k": 3}
    path = TOOL_SEARCH.format_map(owner.ids)
    for mcp_id, key, tool, where in (
        (owner.ids["mcp_id"], owner.key, owner.tool, path),
        (None, stack.knowledge_key, "search_knowledge", PAGES),
    ):
        # Over REST a Table's chunks have what turbopuffer calls them if somebody asks.
        more = {"vendor_ids": True} if mcp_id else {}
        answer = stack.ask("POST", where, arguments | more, bearer=key)
        over_mcp = stack.rpc(mcp_id, "tools/call", key, name=tool, arguments=arguments)
        assert answer.json == over_mcp.json["result"]["structuredContent"]
        assert answer.headers["content-type"] == "application/json"
    assert searched(stack, path, owner.key, query=owner.words).json["results"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "'query' is required"),
        ({"query": "x", "top_k": 51}, "'top_k' must be a whole number from 1 to 50"),
        ({"query": "x", "colour": 1}, "'colour' is not an argument"),
        ({"query": "x", "cursor": "y"}, "'cursor' does not belong to this call"),
        ([], "Send a JSON object"),
        (None, "The body is not valid JSON"),
    ],
)
def test_a_wrong_search_is_422_and_says_why(stack: Stack, owner: Tenant, body: object, told: str) -> None:
    for path, key in ((PAGES, stack.knowledge_key), (TOOL_SEARCH.format_map(owner.ids), owner.key)):
        answer = stack.ask("POST", path, body, bearer=key)
        assert (answer.status, answer.json["code"]) == (422, "invalid")
        assert told in answer.json["detail"]


def test_only_post_and_no_foreign_page_may_search(stack: Stack) -> None:
    other_method = stack.ask("GET", PAGES, bearer=stack.knowledge_key)
    assert (other_method.status, other_method.headers["allow"]) == (405, "POST")
    foreign = stack.ask("POST", PAGES, {"query": "x"}, bearer=stack.knowledge_key, origin="https://page.example")
    assert (foreign.status, foreign.json["code"]) == (403, "origin_not_allowed")
