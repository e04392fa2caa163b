"""Requests and answers of the deployed endpoint, through the gateway, in both eras of the protocol."""

import json
from typing import Any

import httpx
import pytest

from tests.integration.conftest import Deployed

pytestmark = pytest.mark.integration

STATELESS = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def sent(deployed: Deployed, body: str | bytes, **headers: str) -> httpx.Response:
    """The answer to a body as it is, with the knowledge key."""
    given = {
        "Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return httpx.post(f"{deployed.url}/mcp", content=body, headers=given, timeout=60)


def stateless(deployed: Deployed, method: str, **params: Any) -> httpx.Response:
    """The answer to a request without a handshake."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}
    named = {"Mcp_Name": params["name"]} if "name" in params else {}
    return sent(deployed, json.dumps(body), MCP_Protocol_Version=STATELESS, Mcp_Method=method, **named)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_handshake_revision_is_answered_in_its_own_without_a_session(deployed: Deployed, version: str) -> None:
    params = {**INITIALIZE, "protocolVersion": version}
    answer = sent(deployed, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
    assert answer.json()["result"]["protocolVersion"] == version
    assert answer.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in answer.headers


def test_the_stateless_revision_is_discovered_listed_and_called(deployed: Deployed) -> None:
    found = stateless(deployed, "server/discover").json()["result"]
    assert STATELESS in found["supportedVersions"]
    listed = stateless(deployed, "tools/list").json()["result"]
    called = stateless(deployed, "tools/call", name="list_concepts", arguments={}).json()["result"]
    assert {found["cacheScope"], listed["cacheScope"]} == {"private"}
    assert min(found["ttlMs"], listed["ttlMs"]) > 0
    assert {found["resultType"], listed["resultType"], called["resultType"]} == {"complete"}


def test_errors_have_their_http_status(deployed: Deployed) -> None:
    answers = {
        404: stateless(deployed, "nothing/such"),
        400: stateless(deployed, "tools/call", name="drop_table", arguments={}),
        413: sent(deployed, json.dumps({"padding": "x" * 1_000_001})),
        406: sent(deployed, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), Accept="text/html"),
    }
    assert [answer.status_code for answer in answers.values()] == list(answers)
    assert (answers[404].json()["error"]["code"], answers[400].json()["error"]["code"]) == (-32601, -32602)


def test_a_batch_of_the_revision_that_has_them_is_answered_together(deployed: Deployed) -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(3)]
    assert [each["id"] for each in sent(deployed, json.dumps(batch)).json()] == [0, 1, 2]


def test_the_day_of_a_key_s_last_use_is_recorded(deployed: Deployed) -> None:
    project = deployed.api("GET", "/v1/projects")["projects"][0]["id"]
    made = deployed.api("POST", f"/v1/projects/{project}/mcps", json={"name": "used"})
    endpoint = {"mcp_id": made["mcp"]["id"], "key": made["key"]}
    assert made["mcp"]["key_last_used_on"] is None
    assert deployed.tool_names(endpoint) == []
    assert deployed.api("GET", f"/v1/mcps/{endpoint['mcp_id']}")["key_last_used_on"]
