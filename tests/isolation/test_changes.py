"""The change feed over REST: the keys of MCP, and to each caller only what it may read."""

import pytest
from sakuin.mcp.answers import cursor_of

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import TOOL_CHANGES
from tests.isolation.stack import Answer, Stack

PAGES = "/v1/changes"


def changes(stack: Stack, path: str, bearer: str | None, query: str = "") -> Answer:
    return stack.ask("GET", path + query, bearer=bearer)


def test_a_project_hears_of_its_own_tools_and_of_no_page(stack: Stack, owner: Tenant, other: Tenant) -> None:
    for tenant in (owner, other):
        answer = changes(stack, TOOL_CHANGES.format_map(tenant.ids), tenant.key)
        (ready,) = answer.json["changes"]
        assert (ready["kind"], ready["id"], ready["name"]) == ("tool.ready", tenant.ids["tool_id"], tenant.tool)
    for ids in (owner.ids, other.ids):
        assert not [value for value in ids.values() if value in changes(stack, PAGES, stack.knowledge_key).body]


def test_an_endpoint_hears_of_its_bound_tools_alone(stack: Stack) -> None:
    tenant = moved_in(stack, "図形の相似")
    made = stack.ask("POST", f"/v1/projects/{tenant.ids['project_id']}/mcps", {"name": "empty"}, bearer=tenant.token)
    empty = changes(stack, TOOL_CHANGES.format(mcp_id=made.json["mcp"]["id"]), made.json["key"])
    assert (empty.status, empty.json["changes"]) == (200, [])


def test_a_cursor_opens_no_other_feed(stack: Stack, owner: Tenant, other: Tenant) -> None:
    cursor = changes(stack, TOOL_CHANGES.format_map(owner.ids), owner.key).json["cursor"]
    for path, key in ((TOOL_CHANGES.format_map(other.ids), other.key), (PAGES, stack.knowledge_key)):
        answer = changes(stack, path, key, f"?since={cursor}")
        assert (answer.status, "does not belong" in answer.json["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?limit=501", "'limit' must be a whole number from 1 to 500"),
        ("?limit=1&limit=2", "Send 'limit' once"),
        ("?colour=1", "'colour' is not an argument"),
        ("?kind=everything", "'kind' must be"),
        ("?since=x", "'since' does not belong to this call"),
        ("?since=%ff", "The query string cannot be read"),
        ("?" + "kind=page.failed&" * 21, "at most 20 parameters"),
    ],
)
def test_a_wrong_request_is_422_and_says_why(stack: Stack, owner: Tenant, query: str, told: str) -> None:
    for path, key in ((PAGES, stack.knowledge_key), (TOOL_CHANGES.format_map(owner.ids), owner.key)):
        answer = changes(stack, path, key, query)
        assert (answer.status, answer.json["code"], told in answer.json["detail"]) == (422, "invalid", True), (
            answer.body
        )


def test_a_forged_cursor_is_an_error_of_the_caller(stack: Stack) -> None:
    for position in ("x", "1-2-3", "0-0-" + "9" * 18 + "-e3b0c44298fc1c14", "-1-0-0-e3b0c44298fc1c14"):
        answer = changes(stack, PAGES, stack.knowledge_key, f"?since={cursor_of(position, '')}")
        assert answer.status in (410, 422), answer.body


def polled(stack: Stack, mcp_id: str | None, key: str | None, name: str, cursor: str | None = None) -> Answer:
    return stack.rpc(mcp_id, "events/poll", key, name=name, cursor=cursor)


def test_events_of_an_endpoint_are_those_of_its_own_tools(stack: Stack, other: Tenant) -> None:
    # Not the tenant of the other tests: its document changes.
    owner = moved_in(stack, "三角形の合同")
    start = {
        tenant.user: polled(stack, tenant.ids["mcp_id"], tenant.key, "tool.ready").json["result"]["cursor"]
        for tenant in (owner, other)
    }
    path = f"/v1/tables/{owner.ids['table_id']}"
    assert stack.ask("PUT", path, {"data": {"public": {"a": owner.words * 40}}}, bearer=owner.token).status == 200
    stack.indexed(owner.ids["project_id"], owner.ids["table_id"])
    own = polled(stack, owner.ids["mcp_id"], owner.key, "tool.ready", start[owner.user])
    assert [event["data"]["id"] for event in own.json["result"]["events"]] == [owner.ids["tool_id"]]
    foreign = polled(stack, other.ids["mcp_id"], other.key, "tool.ready", start[other.user])
    assert foreign.json["result"]["events"] == []
    stolen = polled(stack, other.ids["mcp_id"], other.key, "tool.ready", start[owner.user])
    assert stolen.json["error"]["code"] == -32602


def test_events_need_the_key_of_their_endpoint(stack: Stack, owner: Tenant, other: Tenant) -> None:
    for mcp_id, key in ((owner.ids["mcp_id"], other.key), (owner.ids["mcp_id"], None), (None, owner.key)):
        for method in ("events/list", "events/poll"):
            assert stack.rpc(mcp_id, method, key, name="tool.ready").status == 401
    names = stack.rpc(owner.ids["mcp_id"], "events/list", owner.key).json["result"]["events"]
    assert {event["name"] for event in names} == {"tool.ready", "tool.failed"}
    assert polled(stack, owner.ids["mcp_id"], owner.key, "page.failed").json["error"]["code"] == -32011
