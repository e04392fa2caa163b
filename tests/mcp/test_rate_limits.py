"""The answers to a key over its rate limit."""

from dataclasses import dataclass
from typing import cast

import psycopg
import pytest
from mcp.server import Server
from sakuin.mcp.app import McpApp
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.rate_limiter import RateLimiter
from sakuin.mcp.rest import RestSearch
from sakuin.mcp.search_tools import SearchTools
from sakuin.mcp.server import knowledge_server
from sakuin.platform.keys import KEY_PREFIX, hash_of_key
from sakuin.tables.model import Endpoint
from sakuin.tables.search import TableSearches

from tests.doubles.allowances import ClockedAllowances
from tests.events import ENDPOINT, ENDPOINT_KEY, ring
from tests.mcp.wire import Ask
from tests.worlds import World

NEXT = KEY_PREFIX + "n" * 43
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}
LIST = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}
OLD = {"mcp_protocol_version": "2025-03-26"}
NEW = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call"}


@pytest.fixture(autouse=True)
def nothing_used(sql: psycopg.Connection) -> None:
    """Begins with no search of any key."""
    sql.execute("truncate quota_use")


@dataclass
class Deployment:
    """A worker of the function `mcp`; any endpoint opens with two keys, and its id begins with that of its project."""

    world: World
    per_minute: int = 3
    now: float = 0.0

    def __post_init__(self) -> None:
        self.tools = KnowledgeTools(self.world, self.world.read)
        allowances = ClockedAllowances(self.world.client, self.world.sql, lambda: self.now)
        self.allow = RateLimiter(allowances, self.per_minute, lambda: self.now)

    def endpoint(self, mcp_id: str, _key_hash: str) -> tuple[tuple[str, ...], Endpoint]:
        return tuple(hash_of_key(key) for key in (ENDPOINT_KEY, NEXT)), Endpoint(mcp_id, mcp_id[:8], ())

    @property
    def ask(self) -> Ask:
        server = knowledge_server(self.tools, "1.2.3")
        tools = Server("tools")
        # No Tool is searched.
        rest = RestSearch(
            self.tools, SearchTools(cast(TableSearches, None)), ChangeFeed(self.world.client, self.world.read.url)
        )
        return Ask(McpApp(server, ring, tools_server=tools, endpoint=self.endpoint, allow=self.allow, rest=rest))

    def statuses(self, *requests: object, path: str = "/mcp", **headers: str) -> list[int]:
        """Returns the statuses of some requests, one after the other."""
        ask = self.ask
        return [ask(body, path=path, **(OLD | headers)).status for body in requests]


def test_beyond_its_searches_a_key_gets_429_and_when_there_are_more(world: World) -> None:
    ask = Deployment(world, now=13.0).ask
    answers = [ask(CALL, **OLD) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "47"
    said = answers[-1].json
    assert (said["jsonrpc"], said["id"]) == ("2.0", 2)
    assert said["error"]["message"].startswith("The limit of 3 searches in a minute (queries_per_minute)")
    assert said["error"]["message"].endswith("Try again in 47 s.")


def test_the_revision_without_a_handshake_is_counted_too(world: World) -> None:
    deployment = Deployment(world, per_minute=1)
    deployment.statuses(CALL)
    assert deployment.statuses(CALL, **NEW) == [429]


def test_a_batch_counts_each_of_its_calls(world: World) -> None:
    ask = Deployment(world, per_minute=30).ask
    answers = [ask([CALL] * 20, **OLD) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    assert answers[1].json["id"] is None


def test_each_of_several_questions_counts(world: World) -> None:
    asked = {"queries": ["解の公式"] * 3}
    call = CALL | {"params": {"name": "search_knowledge", "arguments": asked}}
    assert Deployment(world, per_minute=5).statuses(call, call) == [200, 429]
    over_rest = Deployment(world, per_minute=5).statuses(asked, asked, path="/v1/search")
    assert over_rest == [200, 429]
    # More questions than a batch may have messages.
    assert Deployment(world, per_minute=90).statuses([call] * 7) == [400]


def test_a_method_that_is_spelled_with_escapes_is_counted(world: World) -> None:
    body = '{"jsonrpc":"2.0","id":1,"method":"tools\\/c\\u0061ll","params":{"name":"list_concepts","arguments":{}}}'
    assert Deployment(world, per_minute=1).statuses(body, body) == [200, 429]


def test_what_is_no_call_of_a_tool_costs_nothing(world: World) -> None:
    assert Deployment(world, per_minute=1).statuses(*[LIST] * 5) == [200] * 5


def test_all_keys_and_endpoints_of_a_project_share_its_minute_and_projects_do_not(world: World) -> None:
    deployment, path = Deployment(world, per_minute=2), f"/mcp/{ENDPOINT}"
    keys = [f"Bearer {key}" for key in (ENDPOINT_KEY, NEXT)]
    first, second = (deployment.statuses(CALL, path=path, authorization=key) for key in keys)
    assert 429 not in first + second
    assert [deployment.statuses(CALL, path=path, authorization=key) for key in keys] == [[429], [429]]
    assert deployment.statuses(CALL, path=path[:-1] + "f", authorization=keys[0]) == [429]
    assert 429 not in deployment.statuses(CALL, path=f"/mcp/f{ENDPOINT[1:]}", authorization=keys[0])
