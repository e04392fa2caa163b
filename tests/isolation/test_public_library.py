"""The library without a key: what it opens, and what a flood on it does to those who have a key."""

import json
from collections.abc import Iterator

import pytest
from sakuin_local.supabase.database import Database

from tests.isolation.conftest import Tenant, moved_in
from tests.isolation.stack import Answer, Stack, stack_of
from tests.mcp.wire import TOOLS

PATH = "/public/mcp"
PER_MINUTE = 8
LIMITS = {"public_queries_per_minute": PER_MINUTE, "queries_per_minute": PER_MINUTE, "embedding_daily_tokens": 10**6}
ACCEPTS = {"accept": "application/json", "mcp-protocol-version": "2025-06-18"}


@pytest.fixture(scope="module")
def public(database: Database, stand_in: str) -> Iterator[Stack]:
    """A stack whose library is public."""
    with stack_of(database, stand_in, PUBLIC_LIBRARY="true", LIMITS=json.dumps(LIMITS)) as stack:
        yield stack


@pytest.fixture(scope="module")
def tenant(public: Stack) -> Tenant:
    return moved_in(public, "解の公式")


@pytest.fixture
def minute(public: Stack) -> None:
    """Begins another minute for everybody."""
    public.sql.execute("truncate quota_use, key_use")


def ask(stack: Stack, method: str, bearer: str | None, path: str = PATH, **params: object) -> Answer:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return stack.ask("POST", path, message, bearer=bearer, **ACCEPTS)


def bearers(stack: Stack, tenant: Tenant) -> list[str | None]:
    return [None, "nobody", tenant.key, tenant.token, stack.knowledge_key, stack.admin_key]


def test_everybody_reads_the_library_and_nothing_of_a_project(public: Stack, tenant: Tenant, minute: None) -> None:
    for bearer in bearers(public, tenant):
        tools = ask(public, "tools/list", bearer).json["result"]["tools"]
        assert [tool["name"] for tool in tools] == TOOLS
        refused = ask(public, "tools/call", bearer, name=tenant.tool, arguments={"query": tenant.words})
        assert refused.json["error"]["message"] == f"Unknown tool: {tenant.tool}"
    answer = public.ask("POST", "/public/v1/search", {"query": "解の公式"}, bearer=None)
    assert (answer.status, answer.json["query"]) == (200, "解の公式")
    assert public.sql.execute("select count(*) from key_use").fetchone() == (0,)


def test_without_a_key_everything_else_stays_closed(public: Stack, tenant: Tenant) -> None:
    for path in ("/mcp", f"/mcp/{tenant.ids['mcp_id']}"):
        assert ask(public, "tools/list", None, path).status == 401
    assert public.ask("POST", "/v1/search", {"query": "解の公式"}, bearer=None).status == 401
    for path in (f"{PATH}/{tenant.ids['mcp_id']}", "/public/mcpx", "/public/v1/read"):
        assert ask(public, "tools/list", None, path).status == 404
    for method in ("GET", "DELETE"):
        answer = public.ask(method, PATH, bearer=None)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    foreign = public.ask("POST", PATH, {}, bearer=None, origin="https://page.example")
    assert (foreign.status, foreign.json["code"]) == (403, "origin_not_allowed")


def test_a_flood_takes_nothing_from_those_who_have_a_key(public: Stack, tenant: Tenant, minute: None) -> None:
    def searched(path: str, bearer: str | None) -> Answer:
        call = {"name": "search_knowledge", "arguments": {"query": "解の公式"}}
        return ask(public, "tools/call", bearer, path, **call)

    # Whatever key the flood sends: its searches are not that key's.
    flood = [searched(PATH, bearer) for bearer in bearers(public, tenant) * 5]
    assert [answer.status for answer in flood] == [200] * PER_MINUTE + [429] * (30 - PER_MINUTE)
    assert "public_queries_per_minute" in flood[-1].json["error"]["message"]
    assert 0 < int(flood[-1].headers["retry-after"]) <= 60
    assert public.ask("POST", "/public/v1/search", {"query": "解の公式"}, bearer=None).status == 429
    # The minute of a key is whole.
    answers = [searched("/mcp", public.knowledge_key) for _ in range(PER_MINUTE)]
    assert [answer.status for answer in answers] == [200] * PER_MINUTE
    # Questions are no part of the day's budget of indexing.
    assert public.sql.execute(
        "select coalesce(sum(total), 0) from daily_count where name like 'tokens:%'"
    ).fetchone() == (0,)


def test_questions_without_a_key_beyond_the_tokens_of_the_day_are_compared_by_words_alone(
    database: Database, stand_in: str
) -> None:
    with stack_of(database, stand_in, PUBLIC_LIBRARY="true", LIMITS='{"public_daily_tokens": 20}') as stack:
        stack.openai.tokens = 12

        def degraded(path: str, bearer: str | None) -> str | None:
            call = {"name": "search_knowledge", "arguments": {"query": "解の公式"}}
            answer = ask(stack, "tools/call", bearer, path, **call).json["result"]["structuredContent"]
            reason: str | None = answer.get("degraded")
            return reason

        assert [degraded(PATH, None) for _ in range(2)] == [None, None]
        assert "tokens" in (degraded(PATH, None) or "")
        assert degraded("/mcp", stack.knowledge_key) is None
        assert len(stack.openai.requests) == 3
        counts = stack.sql.execute("select name, total from daily_count where name like 'tokens:%'").fetchall()
    assert counts == [("tokens:public", 24)]
