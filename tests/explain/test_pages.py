"""`POST /v1/explain`: wrong requests, and the same search that agents get."""

from typing import Any

import httpx
import pytest
from sakuin.explain.explanation import hit_of
from sakuin.http.app import explain_router, rest_api
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.doubles.embedder import WEIGHTS
from tests.doubles.playground import asking_mcp
from tests.events import AUTHORIZATION, ring
from tests.worlds import TableWorld, World, long

MATERIAL = "junior/二次方程式の解き方_教材"
FORMULA = f"{MATERIAL}#rule-quadratic-formula"
NOBODY = "00000000-0000-4000-8000-000000000000"
DOCUMENT = {
    "articles": [{"content": long("二次方程式の解の公式")}, {"content": long("一次関数の傾き")}, {"content": "短い"}],
    "notes": {"content": long("確率の求め方")},
}


def ask(world: World, body: Any, tables: TableWorld | None = None) -> httpx.Response:
    """Sends one request with the key."""
    nothing: Any = None
    router = explain_router(asking_mcp(world, tables).explanation)
    app = rest_api(nothing, ring, "1.2.3", admin_routers=[router])
    return TestClient(app, headers=AUTHORIZATION).post("/v1/explain", json=body)


def remove(world: World, key: str) -> None:
    """Removes a page of one test from the library that all read."""
    world.bucket.remove(key)
    world.settle()


def explained(world: World, query: str, expected: str | None = None, **how: Any) -> dict[str, Any]:
    answer = ask(world, {"query": query, "expected": expected, **how})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"query": " "},
        {"query": "あ" * 1001},
        {"query": "x", "top_k": 0},
        {"query": "x", "top_k": "five"},
        {"query": "x", "depth": 51},
        {"query": "x", "legs": "three"},
        {"query": "x", "without": ["magic"]},
        {"query": "x", "filters": {"colour": "red"}},
        {"query": "x", "filters": {"type": "recipe"}},
        {"query": "x", "expected": "no-anchor"},
        {"query": "x", "tool": "search"},
        {"query": "x", "tool": "search", "mcp_id": NOBODY, "filters": {"type": "rule"}},
        {"query": "x", "more": 1},
    ],
)
def test_a_wrong_request_is_422_with_a_reason(world: World, body: Any) -> None:
    answer = ask(world, body)
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_the_results_are_those_that_an_agent_gets(world: World) -> None:
    said = explained(world, "二次方程式を公式で解きたい", depth=3)
    shown = world.search("二次方程式を公式で解きたい", top_k=3).results
    assert [(hit["id"], hit["url"], hit["similarity"]) for hit in said["results"]] == [
        (hit.id, hit.url, hit.similarity) for hit in shown
    ]
    assert [hit["rank"] for hit in said["results"]] == [1, 2, 3]
    assert (said["refused"], said["threshold"]) == (False, WEIGHTS.scales["both"].least)


def test_a_result_has_every_part_of_its_score(world: World) -> None:
    best = explained(world, "公式")["results"][0]
    assert best["id"] == FORMULA
    assert best["matched"] == ["公式"]
    assert 0 < best["words"] <= 1
    assert (best["nearest_rank"], best["matching_rank"]) == (1, 1)
    assert all(best[part] is not None for part in ("similarity", "evidence", "cosine", "z"))
    assert hit_of({**best, "from_a_later_version": 1}).matched == ("公式",)


def test_the_question_is_shown_as_it_was_understood(world: World) -> None:
    said = explained(world, "公式の例題")
    assert said["query"] == "公式の例題"
    asked = next(step for step in said["understood"]["steps"] if step["rule"] == "examples")
    assert asked["found"] == "例題"
    without = explained(world, "公式の例題", without=["examples"])
    assert "examples" not in {step["rule"] for step in without["understood"]["steps"]}


def test_an_expected_chunk_is_explained_at_any_rank(world: World) -> None:
    boxes = {f"rule-{number}": f"公式その{number}: 公式を使うための説明です。" for number in range(20)}
    world.put("senior/公式集_教材.html", a_page({**boxes, "tip-last": "心得: 落ち着いて読む。"}))
    said = explained(world, "公式", "senior/公式集_教材#tip-last", top_k=3, depth=3)
    remove(world, "senior/公式集_教材.html")
    expected = said["expected"]
    assert len(said["results"]) == 3
    assert expected["hit"]["rank"] > 3
    assert "below the first 3" in expected["why"]
    assert "no word in common" in expected["why"]
    assert "in place 3 is ahead" in expected["why"]


def test_the_last_chunk_that_an_agent_gets_is_found(world: World) -> None:
    said = explained(world, "公式", FORMULA, top_k=1)["expected"]
    assert said["hit"]["rank"] == 1
    assert "it is found" in said["why"]


def test_an_expected_chunk_that_is_not_indexed_or_filtered_out_has_that_reason(world: World) -> None:
    assert "Nothing is indexed" in explained(world, "公式", f"{MATERIAL}#rule-none")["expected"]["why"]
    left_out = explained(world, "公式", FORMULA, filters={"type": "example"})["expected"]
    assert (left_out["hit"], left_out["why"]) == (None, "The filter type=example excludes it: its type is rule.")
    left_out = explained(world, "公式", FORMULA, filters={"in": "senior"})["expected"]
    assert left_out["why"].startswith("The filter folder=senior excludes it: its folder is ")


def test_a_refused_answer_has_its_nearest_results_and_the_threshold(world: World) -> None:
    said = explained(world, "zzzz", FORMULA)
    assert said["refused"]
    assert said["results"]
    assert "the answer is no good match, and has at most the nearest 3" in said["expected"]["why"]


def test_words_or_vectors_can_be_asked_alone(world: World) -> None:
    words = explained(world, "公式", f"{MATERIAL}#method-tasukigake", legs="words")
    assert [hit["id"] for hit in words["results"]] == [FORMULA]
    assert words["expected"]["hit"]["rank"] is None
    assert "no word in common" in words["expected"]["why"]
    vectors = explained(world, "公式", legs="vectors")
    assert all(hit["matching_rank"] is None for hit in vectors["results"])


def test_an_id_is_read_as_nfc(world: World) -> None:
    world.put("ガ.html", a_page({"rule-a": "ガ: ガの公式です。"}))
    said = explained(world, "ガ", "カ\u3099#rule-a")
    remove(world, "ガ.html")
    assert said["expected"]["hit"] is not None


def test_an_example_below_its_concept_has_that_reason(world: World) -> None:
    said = explained(world, "噴水の高さ", f"{MATERIAL}#ex-1", top_k=1)["expected"]
    assert said["hit"]["type"] == "example"
    assert said["hit"]["nearest_rank"] == 1
    assert said["hit"]["rank"] > 1
    assert "An example ranks below the concept" in said["why"]


@pytest.fixture(scope="module")
def endpoint(tables: TableWorld) -> str:
    """An endpoint with a tool over the articles alone."""
    table = tables.table(DOCUMENT)
    made = tables.endpoint(tables.tool(table, "/articles", name="search_articles"))
    tables.settle()
    return made


def of_tool(world: World, tables: TableWorld, endpoint: str, **asked: Any) -> httpx.Response:
    body = {"query": "傾き", "tool": "search_articles", "mcp_id": endpoint, **asked}
    return ask(world, body, tables)


def test_a_search_tool_is_explained_by_places_of_its_chunks(world: World, tables: TableWorld, endpoint: str) -> None:
    said = of_tool(world, tables, endpoint, expected="/articles/1/content").json()
    answer = tables.search(endpoint, "傾き", top_k=5)
    shown = [(hit["id"], hit["similarity"]) for hit in said["results"]]
    # Weak ones without a word of the question are explained, but no results.
    assert shown[:2] == [(hit.chunk.json_pointer, hit.similarity) for hit in answer.results]
    best = said["results"][0]
    assert (best["id"], best["matched"], best["url"]) == ("/articles/1/content", ["傾き"], None)
    # It has the whole question.
    assert best["evidence"] == pytest.approx(WEIGHTS.score(best["z"], best["words"], 1.0))
    assert (said["refused"], said["threshold"], said["index_state"]) == (False, WEIGHTS.scales["both"].least, "ready")
    assert said["expected"]["hit"] == best
    assert "it is found" in said["expected"]["why"]


def test_a_search_tool_refuses_what_is_not_close_enough(world: World, tables: TableWorld, endpoint: str) -> None:
    said = of_tool(world, tables, endpoint, query="光合成", expected="/articles/1/content").json()
    assert (said["refused"], len(said["results"]) > 0) == (True, True)
    assert "the answer is no good match" in said["expected"]["why"]


@pytest.mark.parametrize(
    ("pointer", "why"),
    [
        ("/notes/content", "outside the tool, which searches /articles"),
        ("/articles/2/content", "No chunk of this node"),
    ],
)
def test_a_node_outside_a_tool_has_that_reason(
    world: World, tables: TableWorld, endpoint: str, pointer: str, why: str
) -> None:
    expected = of_tool(world, tables, endpoint, expected=pointer).json()["expected"]
    assert expected["hit"] is None
    assert why in expected["why"]


def test_a_tool_or_endpoint_that_is_not_there_is_404(world: World, tables: TableWorld, endpoint: str) -> None:
    missing = of_tool(world, tables, endpoint, tool="nope")
    assert missing.status_code == 404
    assert "search_articles" in missing.json()["detail"]
    for nobody in (NOBODY, "no-uuid"):
        assert of_tool(world, tables, endpoint, mcp_id=nobody).status_code == 404


def test_an_explanation_names_what_was_unavailable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "degraded" not in ask(world, {"query": "解の公式"}).json()
    monkeypatch.setattr(world.embedder, "down", True)
    said = ask(world, {"query": "解の公式"}).json()
    assert "only words were compared" in said["degraded"]
    assert all(hit["cosine"] is None for hit in said["results"])
    by_meaning = ask(world, {"query": "解の公式", "legs": "vectors"})
    assert (by_meaning.status_code, by_meaning.headers["retry-after"]) == (503, "5")
