"""What an agent sees when it has asked too often."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from mcp.server import Server
from sakuin.mcp.app import McpApp
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.rate_limiter import RateLimiter
from sakuin.mcp.server import knowledge_server
from sakuin.platform.keys import KEY_PREFIX, hash_of_key
from sakuin.tables.model import Endpoint

from tests.doubles.allowances import ClockedAllowances
from tests.events import AUTHORIZATION, ENDPOINT, ENDPOINT_KEY, ring
from tests.world import World

NEXT = KEY_PREFIX + "n" * 43
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}
LIST = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
OLD, NEW = {"MCP-Protocol-Version": "2025-03-26"}, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}


@dataclass
class Deployment:
    """A worker of the function `mcp`; any endpoint opens with two keys."""

    world: World
    per_minute: int = 3
    now: float = 0.0

    def __post_init__(self) -> None:
        self.tools = KnowledgeTools(self.world, self.world.read)
        allowances = ClockedAllowances(self.world.client, self.world.sql, lambda: self.now)
        self.allow = RateLimiter(allowances, self.per_minute, lambda: self.now)

    def endpoint(self, mcp_id: str) -> Endpoint:
        return Endpoint(mcp_id, "p", tuple(hash_of_key(key) for key in (ENDPOINT_KEY, NEXT)), ())

    def asked(self, requests: Sequence[tuple[str, Any, dict[str, str]]]) -> list[httpx.Response]:
        """The answers to some requests, one after the other."""
        app = McpApp(
            knowledge_server(self.tools, "1.2.3"),
            ring,
            tools_server=Server("tools"),
            endpoint=self.endpoint,
            allow=self.allow,
        )

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
            async with app.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
                return [
                    await client.post(path, json=body, headers={**ACCEPT, **AUTHORIZATION, **headers})
                    for path, body, headers in requests
                ]

        return asyncio.run(ask())


def test_beyond_its_searches_a_key_is_told_when_there_are_more(world: World) -> None:
    answers = Deployment(world, now=13.0).asked([("/mcp", CALL, OLD)] * 4)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "47"
    said = answers[-1].json()
    assert (said["jsonrpc"], said["id"]) == ("2.0", 2)
    assert said["error"]["message"].startswith("There are 3 searches a minute (queries_per_minute)")
    assert said["error"]["message"].endswith("Try again in 47 s.")


def test_the_revision_without_a_handshake_is_counted_too(world: World) -> None:
    deployment = Deployment(world, per_minute=1)
    deployment.asked([("/mcp", CALL, OLD)])
    assert deployment.asked([("/mcp", CALL, NEW)])[0].status_code == 429


def test_a_batch_counts_each_of_its_calls(world: World) -> None:
    deployment = Deployment(world, per_minute=30)
    answers = deployment.asked([("/mcp", [CALL] * 20, OLD)] * 2)
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["id"] is None


def test_a_method_that_is_spelled_with_escapes_is_counted(world: World) -> None:
    deployment = Deployment(world, per_minute=1)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools\\/c\\u0061ll","params":{"name":"list_concepts","arguments":{}}}'

    async def ask() -> list[int]:
        app = McpApp(knowledge_server(deployment.tools, "1"), ring, allow=deployment.allow)
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        headers = {**ACCEPT, **AUTHORIZATION, **OLD, "content-type": "application/json"}
        async with app.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
            return [(await client.post("/mcp", content=body, headers=headers)).status_code for _ in range(2)]

    assert asyncio.run(ask()) == [200, 429]


def test_what_is_no_call_of_a_tool_costs_nothing(world: World) -> None:
    answers = Deployment(world, per_minute=1).asked([("/mcp", LIST, OLD)] * 5)
    assert {answer.status_code for answer in answers} == {200}


def test_all_keys_of_an_endpoint_share_its_minute_and_endpoints_do_not(world: World) -> None:
    keys = [{**OLD, "Authorization": f"Bearer {key}"} for key in (ENDPOINT_KEY, NEXT)]
    deployment = Deployment(world, per_minute=2)
    answers = deployment.asked([(f"/mcp/{ENDPOINT}", CALL, keys[place % 2]) for place in range(4)])
    assert [answer.status_code == 429 for answer in answers] == [False, False, True, True]
    (other,) = deployment.asked([(f"/mcp/{ENDPOINT[:-1]}f", CALL, keys[0])])
    assert other.status_code != 429
