"""Keys, origins and methods at the deployed endpoints, through the gateway."""

from typing import Any

import httpx
import pytest

from tests.integration.conftest import Deployed

pytestmark = pytest.mark.integration


def asked(deployed: Deployed, method: str = "POST", path: str = "/mcp", body: Any = None, **headers: str) -> Any:
    """One request with the knowledge key, unless `headers` say otherwise (an empty one is left out)."""
    sent = {
        "Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        **headers,
    }
    return httpx.request(
        method, deployed.url + path, json=body, headers={name: text for name, text in sent.items() if text}, timeout=60
    )


def called(deployed: Deployed, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    result: dict[str, Any] = asked(deployed, body=body).json()["result"]
    return result


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_and_no_session(deployed: Deployed, method: str) -> None:
    answer = asked(deployed, method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_notification_is_202_and_empty(deployed: Deployed) -> None:
    answer = asked(deployed, body={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


def test_a_search_over_rest_is_answered_and_every_refusal_has_its_request(deployed: Deployed) -> None:
    assert asked(deployed, path="/v1/search", body={"query": "解の公式"}).json()["results"]
    assert asked(deployed, "GET", "/v1/changes?limit=1").json()["changes"]
    for method, path, status in (
        ("GET", "/v1/search", 405),
        ("POST", "/v1/changes", 405),
        ("GET", "/v1/mcps/11111111-1111-1111-1111-111111111111/changes", 401),
        ("POST", "/v1/search", 422),
        ("POST", "/v1/nothing", 404),
        ("GET", "/v1/status", 401),
    ):
        refused = asked(deployed, method, path, {} if method == "POST" else None)
        assert refused.status_code == status
        assert refused.json()["request_id"], refused.text


def test_a_foreign_origin_is_403(deployed: Deployed) -> None:
    assert asked(deployed, Origin="https://evil.example").status_code == 403


@pytest.mark.parametrize("path", ["/mcp", "/mcp/11111111-1111-1111-1111-111111111111", "/v1/status"])
@pytest.mark.parametrize("key", ["", "Bearer wrong", "the key of the other endpoint"])
def test_a_missing_or_wrong_key_is_401_with_a_challenge(deployed: Deployed, path: str, key: str) -> None:
    if key == "the key of the other endpoint":
        other = "SAKUIN_API_KEY" if path.startswith("/v1") else "SAKUIN_ADMIN_KEY"
        key = f"Bearer {deployed.environment[other]}"
    answer = asked(deployed, "GET" if path.startswith("/v1") else "POST", path, Authorization=key)
    assert answer.status_code == 401
    # API Gateway renames it, and the local gateway as well.
    assert answer.headers["x-amzn-remapped-www-authenticate"].startswith("Bearer")
    assert "www-authenticate" not in answer.headers


def test_where_to_sign_in_is_found_without_that_header(deployed: Deployed) -> None:
    url, issuer = deployed.environment["SAKUIN_URL"], f"{deployed.environment['SAKUIN_SUPABASE_URL']}/auth/v1"
    for path in ("", "/mcp/11111111-1111-1111-1111-111111111111"):
        metadata = asked(deployed, "GET", f"/.well-known/oauth-protected-resource{path}", Authorization="").json()
        assert (metadata["resource"], metadata["authorization_servers"]) == (f"{url}{path}", [issuer])


def test_a_filter_that_leaves_fewer_gives_all_that_it_leaves(deployed: Deployed) -> None:
    material = "junior/二次方程式の解き方_教材"
    filters = {"material": material, "type": "rule"}
    listed = called(deployed, "list_concepts", filters)["structuredContent"]["concepts"]
    found = called(deployed, "search_knowledge", {"query": "解の公式", "top_k": 50, **filters})["structuredContent"]
    assert 1 < len(listed) < 50
    assert {hit["id"] for hit in found["results"]} == {concept["id"] for concept in listed}
