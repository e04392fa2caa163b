"""Answers of the knowledge endpoint that do not fit at once."""

from typing import Any

import pytest
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.retrieval.tokens import estimated_tokens

from tests.builders import a_page
from tests.mcp.tool_answers import answer, call, said, size
from tests.worlds import Worlds

SHORT, LONG = "二次方程式を解く方法", "とても長い、読む人が疲れてしまうほどの学習項目を説明する方法" * 5


@pytest.fixture(scope="module")
def tools(a_world: Worlds, request: pytest.FixtureRequest) -> KnowledgeTools:
    """The tools of a library with fifty explanations that have the same words, and short learns by default."""
    world = a_world(base_url="/school_asset")
    item = getattr(request, "param", SHORT)
    learns = "".join(f"  rule-{n}: [{', '.join(f'{item}{m}' for m in range(5))}]\n" for n in range(50))
    world.bucket.write("learns.yml", f"二次方程式の解き方_教材:\n{learns}".encode())
    boxes = {f"rule-{n}": f"解の公式 その{n}: " + "係数を公式に代入する。" * 50 for n in range(50)}
    world.put("junior/二次方程式の解き方_教材.html", a_page(boxes))
    return KnowledgeTools(world, world.read)


@pytest.mark.parametrize("asked", [{"query": "解の公式"}, {"queries": [f"解の公式 その{n}" for n in range(8)]}])
@pytest.mark.parametrize("tools", [LONG, SHORT], indirect=True, ids=["long", "short"])
def test_whole_results_that_fit_come_with_a_cursor_to_the_others(tools: KnowledgeTools, asked: dict[str, Any]) -> None:
    seen: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        result = call(tools, "search_knowledge", **asked, **(cursor or {"top_k": 50}))
        found = answer(result)
        assert size(result) < 40_000
        assert len(found["results"]) >= 5 or "next_cursor" not in found
        seen += found["results"]
        if "next_cursor" not in found:
            break
        assert found["truncated"].startswith(f"{len(seen)} of 50 results")
        cursor = {"cursor": found["next_cursor"]}
    assert "truncated" not in found
    assert len({hit["id"] for hit in seen}) == len(seen) == 50
    similarities = [hit["similarity"] for hit in seen]
    assert similarities == sorted(similarities, reverse=True)
    assert all(len(hit["learns"]) == 5 and 90 <= len(hit["excerpt"]) <= 102 for hit in seen)
    assert all(hit["url"].endswith(hit["id"].rpartition("#")[2]) for hit in seen)


def test_results_are_whole_until_the_tokens_are_spent(tools: KnowledgeTools) -> None:
    five = answer(call(tools, "search_knowledge", query="解の公式"))["results"]
    many_more = answer(call(tools, "search_knowledge", query="解の公式", top_k=50))["results"]
    assert five == many_more[:5]
    first, second, *others = five
    for hit in (first, second):
        assert hit["content"] == answer(call(tools, "get_chunk_by_id", id=hit["id"]))["chunk"]["content"]
    assert others[0]["is_cut"]
    assert 1400 <= sum(estimated_tokens(hit.get("content", "")) for hit in five) <= 1510
    assert [hit.keys() & {"content", "is_cut"} for hit in others[1:]] == [set()] * 2


@pytest.mark.parametrize(
    ("max_tokens", "parts"), [(0, []), (99, []), (100, [True]), (600, [None]), (700, [None, True])]
)
def test_an_agent_says_how_many_tokens_it_reads(tools: KnowledgeTools, max_tokens: int, parts: list[Any]) -> None:
    results = answer(call(tools, "search_knowledge", query="解の公式", max_tokens=max_tokens))["results"]
    assert [hit.get("is_cut") for hit in results if "content" in hit] == parts
    assert sum(estimated_tokens(hit.get("content", "")) for hit in results) <= max_tokens + 2


def test_a_cursor_of_another_question_is_an_error(tools: KnowledgeTools) -> None:
    cursor = answer(call(tools, "search_knowledge", query="解の公式", top_k=50))["next_cursor"]
    for other in ({"query": "公式"}, {"query": "解の公式", "type": "rule"}):
        assert "does not belong to this call" in said(call(tools, "search_knowledge", cursor=cursor, **other))
