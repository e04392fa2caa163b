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
