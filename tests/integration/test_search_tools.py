"""From a document to an agent's answer, on the deployed template, with the commands that a person has."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import Deployed, eventually

pytestmark = pytest.mark.integration

OLD = "二次方程式の解の公式について説明します。係数を代入して解を求めます。" * 8
NEW = "三平方の定理で直角三角形の辺の長さを求める話をします。" * 10
OTHER = "一次関数の傾きと切片の話です。" * 20


def document_file(folder: Path, document: object) -> str:
    file = folder / "table.json"
    file.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return str(file)


def texts(result: dict[str, Any]) -> list[str]:
    return [hit["chunk"]["chunk_text"] for hit in result["structuredContent"]["results"]]


def test_text_that_was_edited_away_is_never_seen_again(deployed: Deployed, tmp_path: Path) -> None:
    table = deployed.printed("table", "put", document_file(tmp_path, {"articles": [{"content": OLD}]}))["table_id"]
    tool = deployed.printed("tool", "create", "--table", table, "--json-path", "", "--name", "edited", "--wait")
    endpoint = deployed.printed("mcp", "create", "--name", "e", "--tool", tool["tool_id"])
    deployed.printed("table", "put", document_file(tmp_path, {"articles": [{"content": NEW}]}), "--id", table)
    eventually(
        "the new text", lambda: any("三平方" in text for text in texts(deployed.call_tool(endpoint, "edited", "定理")))
    )
    assert not [text for text in texts(deployed.call_tool(endpoint, "edited", "解の公式", top_k=50)) if text in OLD]
    path = f"/v1/mcps/{endpoint['mcp_id']}/tools/{tool['tool_id']}/search"
    over_rest = api(deployed, endpoint["key"], "POST", path, json={"query": "定理"})
    assert over_rest.json() == deployed.call_tool(endpoint, "edited", "定理")["structuredContent"]
    deployed.printed("table", "rm", table)
    assert deployed.tool_names(endpoint) == []


def test_a_table_beyond_the_limits_of_a_request_arrives_through_s3(deployed: Deployed, tmp_path: Path) -> None:
    pages = {f"p{number}": {"small": "小さな文字列です。" * 100} for number in range(2800)}
    document = {"articles": [{"content": OLD}], "pages": pages}
    file = document_file(tmp_path, document)
    assert Path(file).stat().st_size > 6_000_000
    table = deployed.printed("table", "put", file)
    assert table["version"] == 1
    asked = ("--table", table["table_id"], "--json-path", "/articles", "--name", "big", "--wait")
    tool = deployed.printed("tool", "create", *asked)
    assert tool["search_index"]["nodes_count"] == 1
    deployed.printed("table", "rm", table["table_id"])


def api(deployed: Deployed, bearer: str, method: str, path: str, **parts: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {bearer}"}
    return httpx.request(method, deployed.url + path, headers=headers, timeout=60, **parts)
