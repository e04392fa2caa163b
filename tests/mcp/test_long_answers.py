"""Answers of the knowledge endpoint that do not fit at once."""

import json
from typing import Any

import pytest
from sakuin.language.unicode_text import estimated_tokens
from sakuin.mcp.knowledge.tools import KnowledgeTools

from tests.builders import a_page
from tests.mcp.tool_answers import answer, call, pages, said
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


@pytest.mark.parametrize("asked", [{"query": "解の公式"}, {"queries": [f"解の公式 その{n}" for n in range(3)]}])
@pytest.mark.parametrize("tools", [LONG, SHORT], indirect=True, ids=["long", "short"])
def test_whole_results_that_fit_come_with_a_cursor_to_the_others(tools: KnowledgeTools, asked: dict[str, Any]) -> None:
    seen: list[dict[str, Any]] = []
    *parts, last = pages(tools, "search_knowledge", **asked, top_k=50)
    for part in parts:
        assert len(part["results"]) >= 5
        seen += part["results"]
        assert part["truncated"].startswith(f"{len(seen)} of 50 results")
    seen += last["results"]
    assert not {"truncated", "next_cursor"} & last.keys()
    assert len({hit["url"] for hit in seen}) == len(seen) == 50
    similarities = [hit["similarity"] for hit in seen]
    assert similarities == sorted(similarities, reverse=True)
    assert all(1 <= len(hit["learns"]) <= 5 and 90 <= len(hit["excerpt"]) <= 102 for hit in seen)


def test_results_are_whole_until_the_tokens_are_spent(tools: KnowledgeTools) -> None:
    five = answer(call(tools, "search_knowledge", query="解の公式"))["results"]
    many_more = answer(call(tools, "search_knowledge", query="解の公式", top_k=50))["results"]
    assert [hit["url"] for hit in five] == [hit["url"] for hit in many_more[:5]]
    first, *others = five
    whole = answer(call(tools, "get_chunk_by_id", id=first["url"]))["chunk"]["content"]
    assert (first["is_cut"], first["content"][:100]) == (True, whole[:100])
    assert [hit.keys() & {"content", "is_cut"} for hit in others] == [set()] * 4


@pytest.mark.parametrize(
    ("max_tokens", "count", "parts"),
    [(0, 5, []), (99, 1, []), (600, 1, [True]), (1500, 5, [True]), (4000, 5, [None] * 4 + [True])],
)
def test_an_agent_says_how_many_tokens_it_reads(
    tools: KnowledgeTools, max_tokens: int, count: int, parts: list[Any]
) -> None:
    result = call(tools, "search_knowledge", query="解の公式", max_tokens=max_tokens)
    results = answer(result)["results"]
    assert (len(results), [hit.get("is_cut") for hit in results if "content" in hit]) == (count, parts)
    for form in (json.dumps(result.structured_content, ensure_ascii=False), said(result)):
        assert estimated_tokens(form) <= (max_tokens if parts else 250 + 200 * count)


def test_a_cursor_of_another_question_is_an_error(tools: KnowledgeTools) -> None:
    cursor = answer(call(tools, "search_knowledge", query="解の公式", top_k=50))["next_cursor"]
    for other in ({"query": "公式"}, {"query": "解の公式", "type": "rule"}):
        assert "does not belong to this call" in said(call(tools, "search_knowledge", cursor=cursor, **other))
