"""Two tenants and every tool of their endpoints: a key opens its own endpoint, which shows its own scope."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.supabase.client import call
from sakuin.retrieval.index_version import ANALYZER
from sakuin.tables.json_pointer import ancestors, pointer_hash

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.routes import TOOL_SEARCH
from tests.isolation.stack import Answer, Stack
from tests.worlds import FINGERPRINT


def listed(stack: Stack, mcp_id: str | None, key: str) -> set[str]:
    return {tool["name"] for tool in stack.rpc(mcp_id, "tools/list", key).json["result"]["tools"]}


def called(stack: Stack, mcp_id: str | None, key: str, tool: str, **arguments: Any) -> Answer:
    return stack.rpc(mcp_id, "tools/call", key, name=tool, arguments=arguments)


def pointers(answer: Answer) -> set[str]:
    content = answer.json["result"]["structuredContent"]
    return {hit["chunk"]["json_pointer"] for hit in content["results"]}


def test_the_library_is_not_public_by_default(stack: Stack, owner: Tenant) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for bearer in (None, stack.knowledge_key, stack.admin_key, owner.key, owner.token):
        assert stack.ask("POST", "/public/mcp", message, bearer=bearer).status == 404
        assert stack.ask("POST", "/public/v1/search", {"query": "x"}, bearer=bearer).status == 404


# What a key or a user opens of the library (no ids) or of an endpoint: over MCP and over REST.
DOORS: dict[str, Callable[[Stack, Mapping[str, str] | None, str | None], Answer]] = {
    "tools": lambda stack, ids, bearer: stack.rpc(ids and ids["mcp_id"], "tools/list", bearer),
    "search": lambda stack, ids, bearer: stack.ask(
        "POST", TOOL_SEARCH.format_map(ids) if ids else "/v1/search", {"query": "公式"}, bearer=bearer
    ),
}


@pytest.fixture(scope="module")
def nowhere() -> str:
    """The id of no endpoint; the same for all doors: a worker remembers refused keys, of an endpoint or not."""
    return str(uuid4())


@pytest.mark.parametrize("door", DOORS)
def test_an_endpoint_opens_to_its_key_and_members(
    stack: Stack, owner: Tenant, other: Tenant, nowhere: str, door: str
) -> None:
    absent = {**owner.ids, "mcp_id": nowhere}
    places = {"library": None, "owner's": owner.ids, "other's": other.ids, "nowhere": absent}
    bearers = {"owner": owner.key, "other": other.key, "knowledge": stack.knowledge_key}
    bearers |= {"admin": stack.admin_key, "user": owner.token}
    answers = {
        (place, name): DOORS[door](stack, ids, bearer)
        for place, ids in places.items()
        for name, bearer in (bearers | {"nothing": None}).items()
    }
    opened = {which for which, answer in answers.items() if answer.status == 200}
    assert opened == {("library", "knowledge"), ("owner's", "owner"), ("owner's", "user"), ("other's", "other")}
    refused = {which: answer for which, answer in answers.items() if which not in opened}
    assert {(each.status, name == "user") for (_, name), each in refused.items()} == {(401, False), (403, True)}
    # Whether there is an endpoint cannot be told from how a key or a user is refused.
    for name in ("other", "knowledge", "admin", "user", "nothing"):
        place, ids = ("other's", other.ids) if name == "user" else ("owner's", owner.ids)
        assert _unnamed(refused[place, name], ids) == _unnamed(refused["nowhere", name], absent), name


def _unnamed(answer: Answer, ids: Mapping[str, str]) -> str:
    """An answer without the id that was asked for: a 401 leads to the metadata of every id."""
    return str((answer.status, answer.body, answer.headers, answer.round_trips)).replace(ids["mcp_id"], "")


def work_of(stack: Stack, mcp_id: str, key: str) -> tuple[int, dict[str, int]]:
    """The length of what Postgres answers to a key of an endpoint, and how often it called which function for that."""
    with stack.sql.transaction():
        stack.sql.execute("set local track_functions = 'all'")
        asked = (mcp_id, hash_of_key(key))
        ((length,),) = stack.sql.execute("select length(endpoint_of_key(%s, %s)::text)", asked).fetchall()
        calls = stack.sql.execute("select funcname, calls from pg_stat_xact_user_functions").fetchall()
    return length, dict(calls)


def test_a_wrong_key_costs_the_same_work_whether_or_not_there_is_an_endpoint(stack: Stack, owner: Tenant) -> None:
    mcp_id, nowhere, wrong = owner.ids["mcp_id"], str(uuid4()), new_key()
    there, absent = work_of(stack, mcp_id, wrong), work_of(stack, nowhere, wrong)
    assert there == absent
    assert work_of(stack, mcp_id, owner.key)[1].keys() > there[1].keys() == {"endpoint_of_key"}
    # Each is compared with as many hashes.
    lookups = [stack.workers.records.endpoint_of_key(each, hash_of_key(wrong)) for each in (mcp_id, nowhere)]
    assert [([len(known) for known in hashes], found) for hashes, found in lookups] == [([64, 64], None)] * 2


def test_each_tool_of_another_is_unknown_by_name(stack: Stack, owner: Tenant, other: Tenant) -> None:
    keys = {None: stack.knowledge_key, owner.ids["mcp_id"]: owner.key, other.ids["mcp_id"]: other.key}
    names = {mcp_id: listed(stack, mcp_id, key) for mcp_id, key in keys.items()}
    assert names[owner.ids["mcp_id"]] == {owner.tool}
    assert names[other.ids["mcp_id"]] == {other.tool}
    every = set().union(*names.values()) | {"everything"}
    for mcp_id, key in keys.items():
        unknown = called(stack, mcp_id, key, "no_such_tool", query="公式")
        for name in every - names[mcp_id]:
            refused = called(stack, mcp_id, key, name, query="公式")
            assert refused.body.replace(name, "no_such_tool") == unknown.body
            assert (refused.status, refused.round_trips) == (unknown.status, unknown.round_trips)


@pytest.mark.parametrize("query", ["秘密", "内緒", "空", "点々", "公式"])
def test_a_tool_shows_its_scope_and_no_place_of_a_similar_name(stack: Stack, owner: Tenant, query: str) -> None:
    shown = pointers(called(stack, owner.ids["mcp_id"], owner.key, owner.tool, query=query, top_k=50))
    # The words of other places are no good match here.
    assert shown <= {"/public/a", "/public/~01/.."}
    assert shown or query != "公式"


@pytest.mark.parametrize(
    ("json_path", "shown"),
    [
        ("/public/~01", {"/public/~01/.."}),
        ("/public/~1", None),
        ("/public/..", None),
        ("/public/../secret", None),
        ("/public/", None),
        ("/", {"//public"}),
        ("/publi", None),
        ("/secret", {"/secret"}),
        ("/PUBLIC", None),
    ],
)
def test_a_scope_is_a_pointer_and_no_path(stack: Stack, owner: Tenant, json_path: str, shown: set[str] | None) -> None:
    asked = {"table_id": owner.ids["table_id"], "json_path": json_path, "type": "search", "name": "narrow"}
    path = f"/v1/projects/{owner.ids['project_id']}"
    created = stack.ask("POST", f"{path}/tools", asked, bearer=owner.token)
    if shown is None:
        assert (created.status, "has no node at" in created.json["detail"]) == (422, True)
        return
    tool = created.json["id"]
    made = stack.ask("POST", f"{path}/mcps", {"name": "narrow", "tool_ids": [tool]}, bearer=owner.token).json
    stack.indexed(owner.ids["project_id"], owner.ids["table_id"])
    answer = called(stack, made["mcp"]["id"], made["key"], "narrow", query="公式", top_k=50)
    assert pointers(answer) == shown


def test_a_guessed_row_of_the_engine_answers_its_own_tool_alone(stack: Stack, owner: Tenant, other: Tenant) -> None:
    rows = stack.sql.execute("select turbopuffer_doc_id, json_pointer, table_id::text from chunks").fetchall()
    reachable = {
        tenant.ids["mcp_id"]: {
            name for name, where, table in rows if table == tenant.ids["table_id"] and where.startswith("/public/")
        }
        for tenant in (owner, other)
    }
    for endpoint in (owner, other):
        for tool in (owner, other):
            mcp_id, tool_id = endpoint.ids["mcp_id"], tool.ids["tool_id"]
            found = stack.workers.records.current_chunks(mcp_id, tool_id, [name for name, *_ in rows], limit=99)
            assert found.keys() == (reachable[mcp_id] if endpoint is tool else set())
            frequencies, sample = stack.workers.records.term_frequencies(mcp_id, tool_id, ["説明"], sample=9)
            assert bool(frequencies.total) == bool(sample) == (endpoint is tool)
            assert {name for name, _, table in rows if table == tool.ids["table_id"]} >= set(sample)
            hashes = {pointer_hash(place) for _, where, _ in rows for place in ancestors(where)}
            objects = stack.workers.records.objects(mcp_id, tool_id, hashes)
            assert all(where.startswith("/public/") for where in objects)
            assert not objects or endpoint is tool
            words = {"p_readings": ["コウシキ"], "p_words": {}, "p_fingerprint": FINGERPRINT.id}
            words |= {"p_query": owner.words, "p_analyzer": ANALYZER}
            known = call(stack.workers.client, "table_lexicon_entries", {"p_mcp": mcp_id, "p_tool": tool_id, **words})
            assert bool(known["written"]) is (endpoint is tool is owner)
            assert bool(known["synonyms"]) is (endpoint is tool is owner)


# What is changed with one Search Tool of a tenant; the last two end the tenant's Table.
CHANGES: dict[str, tuple[str, str, object]] = {
    "the endpoint is disabled": ("PATCH", "/v1/mcps/{mcp_id}", {"status": "disabled"}),
    "the tool is disabled": ("PATCH", "/v1/tools/{tool_id}", {"enabled": False}),
    "the binding is disabled": ("PUT", "/v1/mcps/{mcp_id}/tools/{tool_id}", {"status": "disabled"}),
    "the tool is unbound": ("DELETE", "/v1/mcps/{mcp_id}/tools/{tool_id}", None),
    "the tool is deleted": ("DELETE", "/v1/tools/{tool_id}", None),
    "the endpoint is deleted": ("DELETE", "/v1/mcps/{mcp_id}", None),
    "the table is deleted": ("DELETE", "/v1/tables/{table_id}", None),
    "the project is deleted": ("DELETE", "/v1/projects/{project_id}", None),
}


@pytest.fixture(scope="module")
def tenants(stack: Stack) -> dict[bool, Tenant]:
    """Who has what is changed: one for the project, another for all else."""
    return {of_project: moved_in(stack, "相似な図形") for of_project in (False, True)}


@pytest.mark.parametrize("change", CHANGES)
def test_rights_are_checked_before_and_after_the_search(stack: Stack, tenants: dict[bool, Tenant], change: str) -> None:
    tenant = tenants[change == "the project is deleted"]
    path = f"/v1/projects/{tenant.ids['project_id']}"
    asked = {"table_id": tenant.ids["table_id"], "json_path": "/public", "type": "search", "name": "changed"}
    tool = stack.ask("POST", f"{path}/tools", asked, bearer=tenant.token).json["id"]
    stack.indexed(tenant.ids["project_id"], tenant.ids["table_id"])
    made = stack.ask("POST", f"{path}/mcps", {"name": "e", "tool_ids": [tool]}, bearer=tenant.token).json
    mcp_id, key = made["mcp"]["id"], made["key"]
    ids = {**tenant.ids, "tool_id": tool, "mcp_id": mcp_id}
    assert pointers(called(stack, mcp_id, key, "changed", query="図形"))
    let_in = stack.workers.bound(mcp_id)
    method, changed, body = CHANGES[change]
    assert stack.ask(method, changed.format_map(ids), body, bearer=tenant.token).status in (200, 204)
    assert stack.workers.table_search()(mcp_id, let_in.tools[0], "図形", top_k=50).results == ()
    answer = called(stack, mcp_id, key, "changed", query="図形")
    assert answer.status == 401 or "error" in answer.json
    assert tenant.words not in answer.body
    over_rest = stack.ask("POST", TOOL_SEARCH.format_map(ids), {"query": "図形"}, bearer=key)
    assert over_rest.status == (401 if answer.status == 401 else 404)
