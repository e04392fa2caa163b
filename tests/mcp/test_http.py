"""Who may call, and how: keys, origins, paths and methods; a failure has no text of its cause."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR
from sakuin.errors import Unavailable
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.events import AUTHORIZATION, ENDPOINT, ENDPOINT_KEY, KEY, event, ring
from tests.mcp.wire import ERAS, PAGE, Ask, app_of, call, message, named, served

PING = message("ping")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"])
def test_every_other_method_is_405_with_and_without_a_key(ask: Ask, method: str) -> None:
    for key in ({}, {"authorization": None}):
        answer = ask("", method, **key)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_preflight_request_of_an_allowed_origin_is_answered(ask: Ask) -> None:
    asked = {"origin": PAGE, "access_control_request_method": "POST", "authorization": None}
    answer = ask("", "OPTIONS", **asked)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-methods"] == "POST"
    allowed = answer.headers["access-control-allow-headers"].lower()
    assert {"authorization", "mcp-protocol-version", "mcp-method", "mcp-name"} <= set(allowed.split(", "))


def test_an_allowed_origin_can_read_every_answer(ask: Ask) -> None:
    ping = message("ping", ERAS[0])
    for change, status in (({}, 200), ({"authorization": None}, 401), ({"accept": "text/html"}, 406)):
        answer = ask(ping, origin=PAGE, **change)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, PAGE)
        assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in ask(ping).headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://page.example.evil", PAGE.upper(), ""])
def test_any_other_origin_is_403_without_headers_for_it(ask: Ask, origin: str) -> None:
    for method, headers in (("POST", {}), ("OPTIONS", {"access_control_request_method": "POST"}), ("GET", {})):
        answer = ask(message("ping", ERAS[0]), method, origin=origin, **headers)
        assert (answer.status, ask("", method, origin=origin, authorization=None).status) == (403, 403)
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("key", "challenge"),
    [
        (None, 'Bearer realm="sakuin"'),
        *((key, 'Bearer realm="sakuin", error="invalid_token"') for key in ("Bearer wrong", "Bearer ", "Bearer 鍵")),
        *((key, 'Bearer realm="sakuin", error="invalid_token"') for key in ("Basic YTpi", KEY)),
    ],
)
def test_a_401_names_the_scheme_and_says_whether_a_key_was_wrong(ask: Ask, key: str | None, challenge: str) -> None:
    answer = ask(message("ping", ERAS[0]), authorization=key)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, challenge)
    assert "Authorization: Bearer" in answer.body


def test_the_scheme_may_be_written_in_any_case_and_the_path_with_a_slash_at_its_end(ask: Ask) -> None:
    assert ask(PING, path="/mcp/", authorization=f"bearer {KEY}").status == 200


def test_a_key_in_the_url_opens_nothing(ask: Ask) -> None:
    assert ask(PING, path=f"/mcp?key={KEY}&authorization=Bearer {KEY}", authorization=None).status == 401


@pytest.mark.parametrize(
    ("path", "status"),
    [("/mcp/xyz", 401), ("/mcp/11111111-1111-1111-1111-111111111111", 401), ("/mcp/../x", 404), ("/mcpx", 404)],
)
def test_the_knowledge_key_opens_no_other_endpoint(ask: Ask, path: str, status: int) -> None:
    assert ask(PING, path=path).status == status


def test_the_use_of_a_right_key_is_recorded_and_of_a_wrong_one_not(tools: KnowledgeTools) -> None:
    noted: list[str] = []
    ask = Ask(app_of(tools, record_use=noted.append))
    for key in (AUTHORIZATION["Authorization"], "Bearer wrong", None):
        ask(PING, authorization=key)
    assert noted == ring.hashes()


@pytest.mark.parametrize(("path", "key"), [("/mcp", KEY), (f"/mcp/{ENDPOINT}", ENDPOINT_KEY)])
def test_without_readable_keys_a_request_is_503_without_the_reason(tools: KnowledgeTools, path: str, key: str) -> None:
    class Away:
        def hashes(self, *, newer: bool = False) -> list[str]:
            raise Unavailable("The secret sakuin/prod cannot be read")

    def away(_mcp_id: str, _key_hash: str) -> Any:
        raise Unavailable("The secret sakuin/prod cannot be read")

    ask = Ask(app_of(tools, keys=Away(), endpoint=away))
    answer = ask(PING, path=path, authorization=f"Bearer {key}")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert "sakuin/prod" not in answer.body


def test_params_that_are_null_are_none(ask: Ask) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": None}
    listed = ask(body, **named("tools/list", ERAS[0]))
    assert (listed.status, len(listed.json["result"]["tools"])) == (200, 6)


SECRET = "postgres://sakuin:secret@db.example/postgres"


class Broken:
    def knowledge_search(self, version: str | None = None) -> Any:
        raise TypeError(SECRET)

    def __call__(self, folder: str) -> Any:
        raise TypeError(SECRET)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_client_gets_no_text_of_a_failure(tools: KnowledgeTools, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    app = app_of(replace(tools, searches=Broken()))

    async def conversation() -> MCPError:
        async with (
            served(app) as url,
            httpx2.AsyncClient(headers=AUTHORIZATION, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            with pytest.raises(MCPError) as raised:
                await client.call_tool("search_knowledge", {"query": "解の公式"})
            return raised.value

    error = asyncio.run(conversation())
    assert error.error.code == INTERNAL_ERROR
    assert "Internal error" in error.error.message
    assert SECRET not in str(error)
    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert SECRET in str(logged[0].exc_info)


@pytest.mark.parametrize("era", ERAS)
def test_a_failure_names_the_request_that_the_log_has(tools: KnowledgeTools, era: str) -> None:
    answer = call(Ask(app_of(replace(tools, searches=Broken()))), era, "search_knowledge", {"query": "解の公式"})
    assert answer.code == INTERNAL_ERROR
    assert event("mcp.search")["requestContext"]["requestId"] in answer.json["error"]["message"]
    assert SECRET not in answer.body


@pytest.mark.parametrize("path", ["/mcp", "/v1/search"])
def test_a_failure_before_the_tools_is_500_without_its_text(tools: KnowledgeTools, path: str) -> None:
    answer = Ask(app_of(tools, fixed_of=Broken()))({}, path=path)
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert SECRET not in answer.body
