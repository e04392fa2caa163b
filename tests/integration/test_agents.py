"""From an upload to the element that answers, with the published MCP client in its three modes."""

import json
import re
from typing import Any, Literal
from urllib.parse import unquote

import httpx2
import pytest
from bs4 import BeautifulSoup
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.conftest import Deployed
from tests.integration.pages import page, rule

pytestmark = [pytest.mark.integration, pytest.mark.anyio]

Mode = Literal["auto", "legacy", "2026-07-28"]


async def called(deployed: Deployed, mode: Mode, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer of one tool call by the published client."""
    headers = {"Authorization": f"Bearer {deployed.environment['SAKUIN_API_KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{deployed.url}/mcp", http_client=http), mode=mode) as client,
    ):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
        answer: dict[str, Any] = result.structured_content
        assert json.loads(result.content[0].text) == answer
        return answer


@pytest.mark.scenario("knowledge-index/search-knowledge-runs-a-search")
@pytest.mark.scenario("knowledge-index/a-link-carries-its-anchor")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_client_follows_the_link_of_an_upload_to_its_element(deployed: Deployed, mode: Mode) -> None:
    key = f"往復/{mode}_教材.html"
    html = page("星形", rule("rule-star-angle-sum", "星形五角形の角の和", "先端の五つの角の和は 180 度になる。"))
    assert deployed.put(key, html) == "applied"
    answer = await called(deployed, mode, "search_knowledge", {"query": "星形五角形の先端の角の和", "top_k": 10})
    hit = next(hit for hit in answer["results"] if hit["material"] == f"往復/{mode}_教材")
    path, _, anchor = unquote(hit["url"].removeprefix(deployed.url)).rpartition("#")
    stored = deployed.client("s3").get_object(Bucket=deployed.bucket, Key=path.removeprefix("/"))["Body"].read()
    element = BeautifulSoup(stored, "lxml").find(id=anchor)
    assert element is not None
    assert "180 度" in element.get_text()


@pytest.mark.scenario("knowledge-index/get-chunk-by-id-returns-the-details")
async def test_a_client_reads_one_explanation_in_full(deployed: Deployed) -> None:
    id = "junior/二次方程式の解き方_教材#rule-quadratic-formula"
    chunk = (await called(deployed, "auto", "get_chunk_by_id", {"id": id}))["chunk"]
    assert chunk["id"] == id
    assert chunk["title"] == "解の公式"
    assert r"\sqrt" in chunk["content"]
    assert "embedding" not in chunk


@pytest.mark.scenario("knowledge-index/a-similar-concept-is-found")
@pytest.mark.scenario("knowledge-index/a-result-has-every-field")
@pytest.mark.scenario("knowledge-index/an-agent-can-say-what-is-learnt")
async def test_a_goal_in_plain_words_finds_the_formula(deployed: Deployed) -> None:
    answer = await called(deployed, "auto", "search_knowledge", {"query": "二次方程式を公式で解きたい"})
    first = answer["results"][0]
    assert first["title"] == "解の公式"
    assert first["url"] == f"{deployed.url}/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"
    assert 3 <= len(first["learns"]) <= 5
    assert 0.8 < first["similarity"] <= 1
    assert 50 <= len(first["excerpt"]) <= 110


def test_no_key_or_setting_of_the_stack_is_in_its_logs(deployed: Deployed) -> None:
    logs = deployed.client("logs")
    secrets = [value for name, value in deployed.environment.items() if re.search(r"_KEY$", name) and len(value) > 20]
    for group in logs.describe_log_groups()["logGroups"]:
        for found in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
            text = "\n".join(event["message"] for event in found["events"])
            assert not [secret for secret in secrets if secret in text]
