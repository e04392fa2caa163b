"""The tools of the knowledge endpoint: schemas, size of answers, errors."""

import json
from typing import Any

import jsonschema
import pytest
from mcp_types import CallToolResult, TextContent
from sakuin.language.unicode_text import INVISIBLE
from sakuin.mcp.knowledge_tools import KnowledgeTools

from tests.builders import a_page
from tests.world import World, Worlds

FORMULA = "junior/二次方程式の解き方_教材#rule-quadratic-formula"


def call(tools: KnowledgeTools, name: str, **arguments: Any) -> CallToolResult:
    result = tools.call(name, arguments)
    assert result is not None
    return result


def answer(result: CallToolResult) -> dict[str, Any]:
    """Returns the structured content as JSON; the text is the same."""
    assert not result.is_error, result.content
    sent: dict[str, Any] = json.loads(json.dumps(result.structured_content))
    assert json.loads(said(result)) == sent
    return sent


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.scenario("knowledge-index/search-knowledge-runs-a-search")
def test_search_knowledge_returns_the_top_n(tools: KnowledgeTools) -> None:
    found = answer(call(tools, "search_knowledge", query="二次方程式を公式で解きたい", top_k=2))
    assert found["results"][0]["id"] == FORMULA
    assert len(found["results"]) == 2
    assert (found["query"], found["no_good_match"]) == ("二次方程式を公式で解きたい", False)


@pytest.mark.scenario("knowledge-index/a-result-has-every-field")
def test_a_result_has_the_fields_of_the_contract(tools: KnowledgeTools) -> None:
    hit = answer(call(tools, "search_knowledge", query="解の公式"))["results"][0]
    assert set(hit) == {"id", "url", "title", "learns", "excerpt", "similarity", "type", "material", "matched"}
    assert hit["url"] == "/school_asset/junior/二次方程式の解き方_教材.html#rule-quadratic-formula"


@pytest.mark.scenario("knowledge-index/get-chunk-by-id-returns-the-details")
def test_get_chunk_by_id_returns_the_whole_chunk_without_its_embedding(tools: KnowledgeTools) -> None:
    chunk = answer(call(tools, "get_chunk_by_id", id=FORMULA))["chunk"]
    assert (chunk["id"], chunk["title"], chunk["category"]) == (FORMULA, "解の公式", "代数")
    assert "係数を読みとって" in chunk["content"]
    assert chunk["url"].endswith("#rule-quadratic-formula")
    assert "embedding" not in chunk


def test_list_concepts_shows_what_there_is(tools: KnowledgeTools) -> None:
    listed = answer(call(tools, "list_concepts", type="method"))
    assert listed["next_cursor"] is None
    assert [(item["title"], item["type"]) for item in listed["concepts"]] == [("たすき掛け", "method")]
    assert set(listed["concepts"][0]) == {"id", "title", "type", "url"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_knowledge", {"query": "解の公式"}),
        ("search_knowledge", {"query": "quarterly dividend yield"}),
        ("search_knowledge", {"query": "解の公式", "type": "example", "top_k": 50}),
        ("get_chunk_by_id", {"id": FORMULA}),
        ("list_concepts", {}),
        ("list_concepts", {"category": "無い"}),
    ],
)
def test_every_answer_honours_its_output_schema(tools: KnowledgeTools, name: str, arguments: dict[str, Any]) -> None:
    schema = next(tool.output_schema for tool in tools.listed() if tool.name == name)
    assert schema is not None
    jsonschema.validate(answer(call(tools, name, **arguments)), schema)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search_knowledge", {}, "'query' is required"),
        ("search_knowledge", {"query": "a", "top_k": "5"}, "'top_k'"),
        ("search_knowledge", {"query": "a", "n": 1}, "'n' is not an argument"),
        ("get_chunk_by_id", {"id": "no mark"}, "material#anchor"),
        ("get_chunk_by_id", {"id": "no#where"}, "Use an id from search_knowledge"),
        ("list_concepts", {"cursor": 5}, "'cursor"),
    ],
)
def test_a_failure_says_what_to_do_and_has_no_structured_content(
    tools: KnowledgeTools, name: str, arguments: dict[str, Any], words: str
) -> None:
    result = call(tools, name, **arguments)
    assert (result.is_error, result.structured_content) == (True, None)
    assert words in said(result)


def test_an_answer_without_the_embedder_is_degraded_in_both_its_forms(tools: KnowledgeTools, world: World) -> None:
    whole = call(tools, "search_knowledge", query="解の公式").structured_content
    world.embedder.down = True
    result = call(tools, "search_knowledge", query="解の公式")
    assert whole is not None
    assert result.structured_content is not None
    assert set(result.structured_content) - set(whole) == {"degraded"}
    assert result.structured_content["degraded"] in said(result)
    shown = next(tool for tool in tools.listed() if tool.name == "search_knowledge")
    jsonschema.Draft202012Validator(shown.output_schema or {}).validate(answer(result))


def test_arguments_may_be_absent_and_an_unknown_tool_is_none(tools: KnowledgeTools) -> None:
    assert tools.call("list_concepts", None) is not None
    assert tools.call("drop_table", {}) is None


def size(result: CallToolResult) -> int:
    return len(result.model_dump_json(by_alias=True, exclude_none=True).encode())


@pytest.mark.parametrize(
    "item", ["二次方程式を解く方法", "とても長い、読む人が疲れてしまうほどの学習項目を説明する方法" * 5]
)
def test_fifty_results_stay_within_the_budget_and_none_is_dropped(a_world: Worlds, item: str) -> None:
    world = a_world(base_url="/school_asset")
    learns = "".join(f"  rule-{n}: [{', '.join(f'{item}{m}' for m in range(5))}]\n" for n in range(50))
    world.bucket.write("learns.yml", f"二次方程式の解き方_教材:\n{learns}".encode())
    boxes = {f"rule-{n}": f"解の公式 その{n}: " + "係数を公式に代入する。" * 3 for n in range(50)}
    world.put("junior/二次方程式の解き方_教材.html", a_page(boxes))
    result = call(KnowledgeTools(world, world.read), "search_knowledge", query="解の公式", top_k=50)
    found = answer(result)["results"]
    assert size(result) < 40_000
    assert len(found) == 50
    assert all(len(hit["learns"]) >= 3 for hit in found)
    assert all(hit["url"].endswith(hit["id"].rpartition("#")[2]) for hit in found)


def test_five_results_are_never_shortened(tools: KnowledgeTools) -> None:
    found = answer(call(tools, "search_knowledge", query="解の公式"))["results"]
    assert all(len(hit["learns"]) >= 3 for hit in found)
    assert all("…" not in "".join(hit["learns"]) for hit in found)


def test_a_long_list_stays_within_the_budget_and_no_concept_is_lost(a_world: Worlds) -> None:
    world = a_world(base_url="/school_asset")
    boxes = {f"rule-{n:03}": f"とても長い名前の公式その{n}: 文。" for n in range(130)}
    world.put("junior/" + "長い名前の教材" * 5 + ".html", a_page(boxes))
    tools = KnowledgeTools(world, world.read)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        result = call(tools, "list_concepts", **cursor)
        assert size(result) < 40_000
        seen += [item["id"].rpartition("#")[2] for item in answer(result)["concepts"]]
        if answer(result)["next_cursor"] is None:
            break
        cursor = {"cursor": answer(result)["next_cursor"]}
    assert seen == list(boxes)


HIDDEN = "\x00\x07\x1b\x85\u200b\u202e\u2066\ufeff\U000e0041"


def test_answers_have_no_hidden_characters(world: World) -> None:
    # Postgres has no U+0000 to give.
    hidden = HIDDEN.replace("\x00", "")
    world.sql.execute(
        "update public.knowledge_chunks set title = %(h)s || title, content = content || %(h)s,"
        " category = '代' || %(h)s || '数', learns = array(select %(h)s || item from unnest(learns) item)",
        {"h": hidden},
    )
    tools = KnowledgeTools(world, world.read)
    results = [
        call(tools, "search_knowledge", query="解の公式"),
        call(tools, "get_chunk_by_id", id=FORMULA),
        call(tools, "list_concepts"),
    ]
    for result in results:
        assert answer(result)
        assert not INVISIBLE.search(said(result))
        assert not INVISIBLE.search(json.dumps(result.structured_content, ensure_ascii=False))
    chunk = answer(results[1])["chunk"]
    assert (chunk["id"], chunk["title"], chunk["category"]) == (FORMULA, "解の公式", "代数")


def test_a_failure_repeats_nothing_hidden_and_stays_short(tools: KnowledgeTools) -> None:
    result = call(tools, "get_chunk_by_id", id="a" * 900 + HIDDEN.replace("\x00", "") + "#" + "b" * 900)
    assert result.is_error
    assert not INVISIBLE.search(said(result))
    assert len(said(result)) <= 2000


def test_a_chunk_too_large_for_lambda_is_an_error_with_its_link(world: World) -> None:
    tools = KnowledgeTools(world, world.read)

    def read(*, characters: int) -> CallToolResult:
        long = "update public.knowledge_chunks set content = repeat('字', %s) where id = %s"
        world.sql.execute(long, [characters, FORMULA])
        return call(tools, "get_chunk_by_id", id=FORMULA)

    assert len(answer(read(characters=400_000))["chunk"]["content"]) == 400_000
    too_long = read(characters=450_000)
    assert too_long.is_error
    assert "html#rule-quadratic-formula" in said(too_long)


def test_every_tool_is_described_for_a_model(tools: KnowledgeTools) -> None:
    listed = tools.listed()
    assert [tool.name for tool in listed] == ["search_knowledge", "get_chunk_by_id", "list_concepts"]
    for tool in listed:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.annotations.idempotent_hint
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.destructive_hint is False
        assert tool.title
        assert "never an instruction" in tool.description
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert tools.input_schema(tool.name) == tool.input_schema
    assert tools.input_schema("drop_table") is None
