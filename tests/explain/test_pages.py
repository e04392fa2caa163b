"""Explanations: of pages and Tables over `POST /v1/explain`, in the playground, and what a call may cost."""

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from sakuin.errors import Misconfigured, NotFound, OverLimit, SakuinError, Unavailable
from sakuin.explain.ask_mcp import EXPLANATION, AskMcp, ExplanationAsked, answer_event
from sakuin.explain.explain import ExplainKnowledge
from sakuin.http.app import rest_api
from sakuin.knowledge.search import SearchedPages, SearchKnowledge
from sakuin.mcp.admission import Allow
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.platform.aws import LambdaFunction
from sakuin.retrieval.weights import LEAST_SIMILARITY
from sakuin.tables.nodes import Found
from sakuin.tables.search import TableExplanation
from sakuin.texts.catalogue import code_of, coded
from starlette.testclient import TestClient

from tests.builders import a_page
from tests.doubles.embedder import WEIGHTS
from tests.doubles.playground import FUNCTION, Failing, Invoked, asking_mcp
from tests.events import AUTHORIZATION
from tests.exchanges import answers_to
from tests.explain.conftest import DOCUMENT
from tests.snapshots import Case, cases, compare
from tests.worlds import TableWorld, World, long

MATERIAL = "junior/二次方程式の解き方_教材"

EXPLANATIONS = Path(__file__).with_name("explanations.yaml")


def ask(world: World, body: Any, tables: TableWorld | None = None) -> httpx.Response:
    """Sends one request with the key."""
    app = rest_api(replace((world or tables).services, explain=asking_mcp(world, tables)))
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


@pytest.mark.parametrize("case", cases(EXPLANATIONS), ids=lambda case: case["rule"])
def test_a_question_is_explained_as_it_was(world: World, tables: TableWorld, endpoint: str, case: Case) -> None:
    def call(_method: str, _path: str, body: object) -> httpx.Response:
        return ask(world, body, tables)

    answers = answers_to(case["requests"], call, endpoint=endpoint)
    for _, body in answers:
        # Texts without any word of the question are equally far from it, in any order.
        for hit in [*body.get("results", ()), (body.get("expected") or {}).get("hit")]:
            if hit and not hit["cosine"] and (rank := hit.pop("nearest_rank")) and body["expected"]:
                body["expected"]["why"] = body["expected"]["why"].replace(f" ({rank} by meaning)", "")
    compare(EXPLANATIONS, case, answers)


def test_a_question_that_is_too_long_is_422(world: World) -> None:
    assert ask(world, {"query": "あ" * 1001}).status_code == 422


def test_the_results_are_those_that_an_agent_gets(world: World) -> None:
    said = explained(world, "二次方程式を公式で解きたい", depth=3)
    shown = world.search("二次方程式を公式で解きたい", top_k=3).results
    assert [(hit["id"], hit["url"], hit["similarity"]) for hit in said["results"]] == [
        (hit.id, hit.url, hit.similarity) for hit in shown
    ]
    assert [hit["rank"] for hit in said["results"]] == [1, 2, 3]
    assert (said["refused"], said["threshold"]) == (False, LEAST_SIMILARITY)


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


def test_an_expected_chunk_that_is_removed_during_the_explanation_is_not_indexed(world: World) -> None:
    boxes = {f"rule-{number}": f"公式その{number}: 公式を使うための説明です。" for number in range(20)}
    world.put("senior/公式集_教材.html", a_page({**boxes, "tip-last": "心得: 落ち着いて読む。"}))
    explain = ExplainKnowledge(PageGoesAfterOneSearch(world, "senior/公式集_教材.html"), world.read)
    asked = ExplanationAsked(query="公式", expected="senior/公式集_教材#tip-last", top_k=3, depth=3)
    expected = explain(asked).expected
    assert expected is not None
    assert (expected.hit, expected.why[:18]) == (None, "Nothing is indexed")


@dataclass
class PageGoesAfterOneSearch:
    """Searches of a library that loses a page between the first and the second."""

    world: World
    key: str
    searches: int = 0

    def knowledge_search(self, version: str | None = None) -> SearchKnowledge:
        search = self.world.knowledge_search(version)
        pages = search.pages(None)

        def counted(live: str | None) -> SearchedPages:
            self.searches += live is None
            if self.searches == 2:
                remove(self.world, self.key)
            return pages

        return replace(search, pages=counted)


def test_an_id_is_read_as_nfc(world: World) -> None:
    world.put("ガ.html", a_page({"rule-a": "ガ: ガの公式です。"}))
    said = explained(world, "ガ", "カ\u3099#rule-a")
    remove(world, "ガ.html")
    assert said["expected"]["hit"] is not None


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
    assert (said["refused"], said["threshold"], said["index_state"]) == (False, LEAST_SIMILARITY, "ready")
    assert said["expected"]["hit"] == best
    assert "it is found" in said["expected"]["why"]


def test_an_explanation_names_what_was_unavailable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "degraded" not in ask(world, {"query": "解の公式"}).json()
    monkeypatch.setattr(world.embedder, "down", True)
    said = ask(world, {"query": "解の公式"}).json()
    assert "only words were compared" in said["degraded"]
    assert all(hit["cosine"] is None for hit in said["results"])
    by_meaning = ask(world, {"query": "解の公式", "legs": "vectors"})
    assert (by_meaning.status_code, by_meaning.headers["retry-after"]) == (503, "5")


TASUKIGAKE = "junior/二次方程式の解き方_教材#method-tasukigake"

STRANGER = "00000000-0000-4000-8000-0000000000b2"


def answered(world: World, **asked: Any) -> dict[str, Any]:
    question = ExplanationAsked(**{"query": "二次方程式を公式で解きたい", **asked})
    return asking_mcp(world)(question, with_answer=True)


def test_the_answer_is_the_one_that_an_agent_gets_with_its_size_and_time(world: World) -> None:
    arguments = {"query": "二次方程式を公式で解きたい", "top_k": 2, "type": "rule", "in": "junior"}
    given = KnowledgeTools(world, world.read).call("search_knowledge", arguments)
    said = answered(world, top_k=2, filters={"type": "rule", "in": "junior"})["answer"]
    assert given is not None
    assert (said["structured"], said["text"], said["is_error"]) == (
        given.structured_content,
        given.content[0].text,
        False,
    )
    both = json.dumps(said["structured"], ensure_ascii=False, separators=(",", ":")) + said["text"]
    assert len(both.encode()) < said["size"] < 1.5 * len(both.encode())
    assert said["milliseconds"] > 0


def test_an_explanation_alone_has_no_answer_and_counts_for_nobody(world: World) -> None:
    assert "answer" not in asking_mcp(world, allow=refused_by([]))(ExplanationAsked(query="公式"))


@pytest.mark.parametrize(("language", "why"), [("en", "It is in place 2"), ("ja", "順位は 2 位です")])
def test_an_expected_chunk_is_explained_in_one_language(world: World, language: str, why: str) -> None:
    asked = ExplanationAsked(query="二次方程式を公式で解きたい", expected=TASUKIGAKE)
    assert asking_mcp(world)(asked, language=language)["expected"]["why"].startswith(why)


def test_a_tool_answers_as_at_its_endpoint(tables: TableWorld) -> None:
    table = tables.table(DOCUMENT)
    tool = tables.tool(table, "/articles")
    endpoint = tables.endpoint(tool)
    tables.settle()
    given = tables.answer(endpoint, "傾き")
    question = ExplanationAsked(query="傾き", tool="search", mcp_id=endpoint, expected="/articles/1/content")
    said = asking_mcp(None, tables)(question, with_answer=True)
    assert said["answer"]["structured"] == given
    assert said["expected"]["id"] == "/articles/1/content"


def test_a_tool_that_no_endpoint_has_is_not_found(tables: TableWorld) -> None:
    tables.tool(tables.table(DOCUMENT), "")
    for mcp_id in (tables.endpoint(), "not-an-id"):
        with pytest.raises(NotFound):
            asking_mcp(None, tables)(ExplanationAsked(query="x", tool="search", mcp_id=mcp_id), with_answer=True)


def refused_by(taken: list[tuple[str, int]]) -> Allow:
    """Returns a rate limit that is reached, and records what it takes."""

    def allow(payer: str, searches: int) -> None:
        taken.append((payer, searches))
        raise OverLimit("The limit is reached", retry_after=5)

    return allow


def test_a_question_counts_for_its_payer(world: World) -> None:
    taken: list[tuple[str, int]] = []
    with pytest.raises(OverLimit, match="The limit is reached"):
        asking_mcp(world, allow=refused_by(taken))(ExplanationAsked(query="x"), payer=STRANGER)
    assert taken == [(STRANGER, 1)]


def test_the_reason_of_a_failure_keeps_its_code(tables: TableWorld) -> None:
    failure = NotFound(coded("record.no_tool", id="t"))
    answers = {EXPLANATION: Failing(failure)}
    with pytest.raises(NotFound) as raised:
        AskMcp(LambdaFunction(Invoked(partial(answer_event, answers)), FUNCTION))(ExplanationAsked(query="x"))
    assert code_of(str(raised.value)) == "record.no_tool"


def aws_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "secret"}}, "Invoke")


@pytest.mark.parametrize(
    ("failure", "kind", "sentence"),
    [
        (ReadTimeoutError(endpoint_url="x"), Unavailable, "did not answer in time. Try again"),
        (ConnectTimeoutError(endpoint_url="x"), Unavailable, "did not answer"),
        (aws_error("TooManyRequestsException"), Unavailable, "too many calls at once"),
        (aws_error("AccessDeniedException"), Misconfigured, "Deploy the template again"),
        (aws_error("ServiceException"), Unavailable, r"did not answer \(ServiceException\)"),
    ],
)
def test_a_call_that_fails_says_what_to_do(failure: Exception, kind: type[SakuinError], sentence: str) -> None:
    with pytest.raises(kind, match=f"sakuin-SakuinMcp:live .*{sentence}") as raised:
        AskMcp(LambdaFunction(Invoked(failure), FUNCTION))(ExplanationAsked(query="x"))
    assert "secret" not in str(raised.value)
    assert "123456789012" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "failed", "sentence"),
    [
        ({"errorMessage": "Task timed out after 29.00 seconds"}, True, "did not finish in time"),
        ({"errorMessage": "KeyError: secret"}, True, "failed; its log says why"),
        ({"statusCode": 500, "body": "{}"}, False, "The search failed; the log of the function mcp says why"),
    ],
)
def test_a_function_that_fails_says_where_the_reason_is(answer: Any, failed: bool, sentence: str) -> None:
    function = LambdaFunction(Invoked(lambda _event: answer, failed), FUNCTION)
    with pytest.raises(Unavailable, match=sentence):
        AskMcp(function)(ExplanationAsked(query="x"))


def explanation(tables: TableWorld, endpoint: str, query: str, **how: object) -> TableExplanation:
    return tables.table_search().explanation(endpoint, tables.bound(endpoint).tools[0], query, **how)


def test_a_candidate_has_the_ranks_and_scores_of_both_searches(tables: TableWorld, endpoint: str) -> None:
    best = explanation(tables, endpoint, "傾き").candidates[0]
    assert (best.json_path, best.ranked.words.matched) == ("/1/content", ("傾き",))
    assert best.found.matching_rank in (1, 2)
    assert best.ranked.words.share > 0.5
    assert best.found.nearest_rank is not None
    assert best.found.cosine is not None
    assert -1 <= best.found.cosine <= 1
    other = next(each for each in explanation(tables, endpoint, "傾き").candidates if each.json_path == "/0/content")
    assert (other.found.matching_rank, other.ranked.words.share, other.ranked.words.matched) == (None, 0.0, ())


def test_words_or_vectors_alone_rank_by_themselves(tables: TableWorld, endpoint: str) -> None:
    words = explanation(tables, endpoint, "傾き", mode="words").candidates
    assert {each.json_path for each in words} == {"/1/content"}
    vectors = explanation(tables, endpoint, "傾き", mode="vectors").candidates
    assert {each.json_path for each in vectors} == {"/0/content", "/1/content", "/2/content"}
    assert [each.found.nearest_rank for each in vectors] == [each.rank for each in vectors]
    assert {each.ranked.words.share for each in vectors} == {0.0}


def test_an_expected_node_is_explained_at_any_rank(tables: TableWorld, endpoint: str) -> None:
    said = explanation(tables, endpoint, "傾き", expected="/articles/1/content")
    assert [each.rank for each in said.expected] == [
        each.rank for each in said.candidates if each.json_path == "/1/content"
    ]
    nowhere = explanation(tables, endpoint, "傾き", mode="words", expected="/articles/2/content")
    assert nowhere.expected == ()


def test_an_expected_node_that_no_leg_found_has_evidence_and_no_rank(tables: TableWorld) -> None:
    table, _, endpoint = tables.indexed({"a": long("公式", 300), "b": long("傾き", 300), "c": long("切片", 300)})
    search = replace(tables.table_search(), store=ShallowStore(tables.store))
    explain = partial(search.explanation, endpoint, tables.bound(endpoint).tools[0], "傾き", expected="/c")

    assert [(each.rank, each.json_path) for each in explain().candidates] == [(1, "/b")]
    (expected,) = explain().expected
    assert (expected.rank, expected.json_path) == (None, "/c")
    assert 0 < expected.ranked.similarity < explain().candidates[0].ranked.similarity
    assert table


def test_an_activation_during_an_explanation_leaves_the_evidence_as_it_is(tables: TableWorld) -> None:
    _, _, endpoint = tables.indexed({"a": long("公式", 300), "b": long("傾き", 300), "c": long("切片", 300)})
    search = replace(tables.table_search(), store=ShallowStore(tables.store))
    tables_of = search.tables(None)
    # The second of its searches sees an activation.
    given = iter([tables_of, tables_of, tables_of, replace(tables_of)])
    activated = replace(search, tables=lambda _live: next(given))
    how = (endpoint, tables.bound(endpoint).tools[0], "傾き")
    of_two, of_one = activated.explanation(*how, expected="/c"), search.explanation(*how, expected="/c")
    assert of_two.expected == of_one.expected != ()


@dataclass
class ShallowStore:
    """A store whose legs find one chunk each."""

    real: Any

    def search(self, namespace: str, *, depth: int, **asked: Any) -> Found:
        found: Found = self.real.search(namespace, depth=1, **asked)
        return found


def test_an_endpoint_without_the_tool_explains_nothing(tables: TableWorld, endpoint: str) -> None:
    tool = tables.bound(endpoint).tools[0]
    other = tables.endpoint()
    said = tables.table_search().explanation(other, tool, "傾き", expected="/articles/1/content")
    assert (said.candidates, said.expected) == ((), ())
