"""From a document to an agent's answer, on the deployed template, with the commands that a person has."""

import json
import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.conftest import Deployed, eventually

pytestmark = [pytest.mark.integration, pytest.mark.anyio]

OLD = "二次方程式の解の公式について説明します。係数を代入して解を求めます。" * 40
NEW = "三平方の定理で直角三角形の辺の長さを求める話をします。" * 45
OTHER = "一次関数の傾きと切片の話です。" * 90


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def told(deployed: Deployed, *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    code, output = deployed.sakuin(*arguments, "--json")
    assert code == 0, output
    answer: dict[str, Any] = json.loads(output)
    return answer


def document_file(folder: Path, document: object) -> str:
    file = folder / "table.json"
    file.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return str(file)


def asked(deployed: Deployed, endpoint: dict[str, Any], name: str, query: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool call, over plain HTTP."""
    headers = {
        "Authorization": f"Bearer {endpoint['key']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    call = {"name": name, "arguments": {"query": query, **arguments}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = httpx.post(f"{deployed.url}/mcp/{endpoint['mcp_id']}", headers=headers, json=message, timeout=60)
    result: dict[str, Any] = answer.json()["result"]
    return result


def texts(result: dict[str, Any]) -> list[str]:
    return [hit["chunk"]["chunk_text"] for hit in result["structuredContent"]["results"]]


@pytest.mark.scenario("context-search/a-search-tool-is-created-and-bound")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_client_lists_and_calls_a_tool_made_with_the_commands(
    deployed: Deployed, tmp_path: Path, mode: str
) -> None:
    table = told(
        deployed, "table", "put", document_file(tmp_path, {"articles": [{"content": OLD}, {"content": OTHER}]})
    )
    name = f"find_{mode.replace('-', '_')}"
    made = told(
        deployed, "tool", "create", "--table", table["table_id"], "--json-path", "/articles", "--name", name, "--wait"
    )
    assert made["search_index"]["state"] == "ready"
    endpoint = told(deployed, "mcp", "create", "--name", "e", "--tool", made["tool_id"])
    url, headers = f"{deployed.url}/mcp/{endpoint['mcp_id']}", {"Authorization": f"Bearer {endpoint['key']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == [name]
        answer = (await client.call_tool(name, {"query": "解の公式", "top_k": 1})).structured_content
    assert answer["results"][0]["json_path"] == "/0/content"
    assert answer["results"][0]["chunk"]["chunk_text"] in OLD


def test_text_that_was_edited_away_is_never_seen_again(deployed: Deployed, tmp_path: Path) -> None:
    table = told(deployed, "table", "put", document_file(tmp_path, {"articles": [{"content": OLD}]}))["table_id"]
    tool = told(deployed, "tool", "create", "--table", table, "--json-path", "", "--name", "edited", "--wait")
    endpoint = told(deployed, "mcp", "create", "--name", "e", "--tool", tool["tool_id"])
    told(deployed, "table", "put", document_file(tmp_path, {"articles": [{"content": NEW}]}), "--id", table)
    eventually(
        "the new text", lambda: any("三平方" in text for text in texts(asked(deployed, endpoint, "edited", "定理")))
    )
    assert not [text for text in texts(asked(deployed, endpoint, "edited", "解の公式", top_k=50)) if text in OLD]
    told(deployed, "table", "rm", table)
    assert deployed.search_tools(endpoint) == []


def test_a_table_beyond_the_limits_of_a_request_arrives_through_s3(deployed: Deployed, tmp_path: Path) -> None:
    pages = {f"p{number}": {"small": "小さな文字列です。" * 100} for number in range(2800)}
    document = {"articles": [{"content": OLD}], "pages": pages}
    file = document_file(tmp_path, document)
    assert Path(file).stat().st_size > 6_000_000
    table = told(deployed, "table", "put", file)
    assert table["version"] == 1
    tool = told(
        deployed, "tool", "create", "--table", table["table_id"], "--json-path", "/articles", "--name", "big", "--wait"
    )
    assert tool["search_index"]["nodes_count"] == 1
    told(deployed, "table", "rm", table["table_id"])


def test_a_member_sees_a_project_and_for_a_stranger_it_does_not_exist(deployed: Deployed) -> None:
    member, stranger = token(deployed), token(deployed)
    project = api(deployed, member, "POST", "/v1/projects", json={"name": "p"}).json()["id"]
    path = f"/v1/projects/{project}/tables"
    made = api(deployed, member, "POST", path, json={"name": "t", "data": {"a": 1}})
    assert made.status_code == 201, made.text
    assert api(deployed, stranger, "GET", path).status_code == 404
    assert api(deployed, stranger, "DELETE", f"/v1/tables/{made.json()['id']}").status_code == 404
    assert api(deployed, member, "GET", path).status_code == 200
    assert api(deployed, token(deployed, seconds=-60), "GET", path).status_code == 401
    assert api(deployed, token(deployed, audience="anon"), "GET", path).status_code == 401


def token(deployed: Deployed, *, seconds: int = 600, audience: str = "authenticated") -> str:
    """An access token as Supabase Auth signs it for a user."""
    secret = (Path(deployed.environment["SAKUIN_DATA_FOLDER"]) / "jwt-secret").read_text()
    claims = {"sub": str(uuid.uuid4()), "aud": audience, "role": "authenticated", "exp": time.time() + seconds}
    return jwt.encode(claims, secret, algorithm="HS256")


def api(deployed: Deployed, bearer: str, method: str, path: str, **parts: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {bearer}"}
    return httpx.request(method, deployed.url + path, headers=headers, timeout=60, **parts)
