"""What an agent sees when its key has asked too often, and what a wrong key costs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from mcp.server import Server
from sakuin.domain.bound_tools import Endpoint
from sakuin.domain.keys import hash_of_key
from sakuin.entrypoints.mcp_http import McpApp, knowledge_server
from sakuin.entrypoints.mcp_tools import KnowledgeTools
from sakuin.entrypoints.wrong_keys import WrongKeys
from sakuin.errors import Unavailable
from sakuin.services.allow_searches import AllowSearches

from tests.entrypoints.events import AUTHORIZATION, KEY, PEPPER, ring
from tests.in_memory.allowances import MemoryAllowances

CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}
LIST = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
OLD, NEW = {"MCP-Protocol-Version": "2025-03-26"}, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}


@dataclass
class Deployment:
    """A worker of the function `mcp`; `endpoints` has one endpoint, whose key is KEY. `looked` counts its reads."""

    tools: KnowledgeTools
    per_minute: int = 3
    peppers: tuple[str, ...] = (PEPPER,)
    now: float = 0.0
    looked: int = 0
    hashes: tuple[str, ...] = (hash_of_key(KEY, PEPPER),)
    rehashed: list[tuple[str, str, str]] = field(default_factory=list)
    away: bool = False

    def __post_init__(self) -> None:
        self.wrong = WrongKeys(lambda: self.now)
        self.allow = AllowSearches(MemoryAllowances(lambda: self.now), self.per_minute, lambda: self.now)

    def endpoint(self, mcp_id: str) -> Endpoint | None:
        self.looked += 1
        return Endpoint(mcp_id, "p", self.hashes, ()) if mcp_id == "there" else None

    def rehash(self, mcp_id: str, old: str, new: str) -> None:
        if self.away:
            raise Unavailable("Supabase did not answer")
        self.rehashed.append((mcp_id, old, new))

    def asked(self, requests: Sequence[tuple[str, Any, dict[str, str]]]) -> list[httpx.Response]:
        """The answers to some requests, one after the other."""
        app = McpApp(
            knowledge_server(self.tools, "1.2.3"),
            lambda: (ring()[0], self.peppers),
            tools_server=Server("tools"),
            endpoint=self.endpoint,
            allow=self.allow,
            rehash=self.rehash,
            wrong=self.wrong,
        )

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
            async with app.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
                return [
                    await client.post(path, json=body, headers={**ACCEPT, **AUTHORIZATION, **headers})
                    for path, body, headers in requests
                ]

        return asyncio.run(ask())


def test_beyond_its_searches_a_key_is_told_when_there_are_more(tools: KnowledgeTools) -> None:
    answers = Deployment(tools, now=13.0).asked([("/mcp", CALL, OLD)] * 4)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "47"
    said = answers[-1].json()
    assert (said["jsonrpc"], said["id"]) == ("2.0", 2)
    assert said["error"]["message"].startswith("This key has 3 searches a minute (QueriesPerMinute)")
    assert said["error"]["message"].endswith("Try again in 47 s.")


def test_the_revision_without_a_handshake_is_counted_too(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools, per_minute=1)
    deployment.asked([("/mcp", CALL, OLD)])
    assert deployment.asked([("/mcp", CALL, NEW)])[0].status_code == 429


def test_a_batch_counts_each_of_its_calls(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools, per_minute=30)
    answers = deployment.asked([("/mcp", [CALL] * 20, OLD)] * 2)
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["id"] is None


def test_a_method_that_is_spelled_with_escapes_is_counted(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools, per_minute=1)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools\\/c\\u0061ll","params":{"name":"list_concepts","arguments":{}}}'

    async def ask() -> list[int]:
        app = McpApp(knowledge_server(tools, "1"), ring, allow=deployment.allow)
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        headers = {**ACCEPT, **AUTHORIZATION, **OLD, "content-type": "application/json"}
        async with app.run(), httpx.AsyncClient(transport=transport, base_url="http://sakuin.test") as client:
            return [(await client.post("/mcp", content=body, headers=headers)).status_code for _ in range(2)]

    assert asyncio.run(ask()) == [200, 429]


def test_what_is_no_call_of_a_tool_costs_nothing(tools: KnowledgeTools) -> None:
    answers = Deployment(tools, per_minute=1).asked([("/mcp", LIST, OLD)] * 5)
    assert {answer.status_code for answer in answers} == {200}


def test_an_endpoint_s_key_is_counted_too(tools: KnowledgeTools) -> None:
    answers = Deployment(tools, per_minute=1).asked([("/mcp/there", CALL, OLD)] * 2)
    assert answers[1].status_code == 429


@pytest.mark.parametrize("path", ["/mcp/there", "/mcp/elsewhere"])
def test_a_wrong_key_that_comes_again_costs_the_database_nothing(tools: KnowledgeTools, path: str) -> None:
    deployment = Deployment(tools)
    wrong = {"Authorization": "Bearer wrong"}
    answers = deployment.asked([(path, LIST, wrong)] * 10)
    assert {answer.status_code for answer in answers} == {401}
    assert deployment.looked == 1
    deployment.now = 6
    deployment.asked([(path, LIST, wrong)])
    assert deployment.looked == 2


def test_no_key_at_all_costs_the_database_nothing(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools)
    assert deployment.asked([("/mcp/there", LIST, {"Authorization": ""})])[0].status_code == 401
    assert deployment.looked == 0


def test_ever_other_wrong_keys_end_in_429_and_do_not_lock_out_who_was_let_in(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools)
    deployment.asked([("/mcp/there", LIST, OLD)])
    guesses = [("/mcp/there", LIST, {"Authorization": f"Bearer guess-{number}"}) for number in range(100)]
    answers = deployment.asked(guesses)
    assert [answer.status_code for answer in answers] == [401] * 20 + [429] * 80
    assert answers[-1].headers["retry-after"] == "5"
    assert deployment.looked == 21
    assert deployment.asked([("/mcp/there", LIST, OLD)])[0].status_code == 200
    deployment.now = 6
    assert deployment.asked([("/mcp/there", LIST, {"Authorization": "Bearer another"})])[0].status_code == 401


def test_a_key_of_an_old_pepper_opens_its_endpoint_and_gets_a_new_hash(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools, peppers=("new pepper", PEPPER))
    assert deployment.asked([("/mcp/there", LIST, OLD)])[0].status_code == 200
    old, new = hash_of_key(KEY, PEPPER), hash_of_key(KEY, "new pepper")
    assert deployment.rehashed == [("there", old, new)]
    deployment.hashes = (new,)
    assert deployment.asked([("/mcp/there", LIST, OLD)])[0].status_code == 200
    assert len(deployment.rehashed) == 1


def test_a_key_that_cannot_get_a_new_hash_opens_all_the_same(tools: KnowledgeTools) -> None:
    deployment = Deployment(tools, peppers=("new pepper", PEPPER), away=True)
    assert deployment.asked([("/mcp/there", LIST, OLD)])[0].status_code == 200


def test_a_key_of_the_library_opens_under_an_old_pepper(tools: KnowledgeTools) -> None:
    assert Deployment(tools, peppers=("new pepper", PEPPER)).asked([("/mcp", LIST, OLD)])[0].status_code == 200
    assert Deployment(tools, peppers=("new pepper",)).asked([("/mcp", LIST, OLD)])[0].status_code == 401
