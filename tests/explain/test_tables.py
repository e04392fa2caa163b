"""Explanations of the answers of Search Tools."""

import pytest
from sakuin.tables.model import BoundTool
from sakuin.tables.search import SearchTable, TableExplanation

from tests.table_world import TableWorld, long

DOCUMENT = {
    "articles": [
        {"content": long("二次方程式の解の公式")},
        {"content": long("一次関数の傾き")},
        {"content": long("確率の求め方")},
    ],
    "notes": {"content": long("一次関数の切片")},
}


def tool_of(tables: TableWorld, endpoint: str) -> BoundTool:
    found = tables.records.endpoint(endpoint)
    assert found is not None
    return found.tools[0]


def search_of(tables: TableWorld) -> SearchTable:
    return SearchTable(tables.records, tables.store, tables.embedder)


@pytest.fixture
def endpoint(tables: TableWorld) -> str:
    """An endpoint with a tool over the articles alone."""
    table = tables.table(DOCUMENT)
    # A tool over everything: the notes are indexed too.
    tables.tool(table, "", name="all")
    made = tables.endpoint(tables.tool(table, "/articles"))
    tables.settle()
    return made


def explained(tables: TableWorld, endpoint: str, query: str, **how: object) -> TableExplanation:
    return search_of(tables).explanation(endpoint, tool_of(tables, endpoint), query, top_k=5, **how)  # type: ignore[arg-type]


def test_its_candidates_are_the_results_in_their_order(tables: TableWorld, endpoint: str) -> None:
    answer = tables.search(endpoint, "傾きを求める", top_k=5)
    said = explained(tables, endpoint, "傾きを求める")
    shown = [(each.json_path, each.chunk.chunk_index, round(each.score or 0, 6)) for each in said.candidates]
    assert shown[:5] == [(hit.json_path, hit.chunk.chunk_index, hit.score) for hit in answer.results]
    assert [each.rank for each in said.candidates] == list(range(1, len(said.candidates) + 1))


def test_a_candidate_has_the_ranks_and_scores_of_both_searches(tables: TableWorld, endpoint: str) -> None:
    best = explained(tables, endpoint, "傾き").candidates[0]
    assert (best.json_path, best.matched) == ("/1/content", ("傾き",))
    assert best.matching_rank in (1, 2)
    assert best.words is not None
    assert best.words > 0
    assert best.nearest_rank is not None
    assert best.cosine is not None
    assert -1 <= best.cosine <= 1
    other = next(each for each in explained(tables, endpoint, "傾き").candidates if each.json_path == "/0/content")
    assert (other.matching_rank, other.words, other.matched) == (None, None, ())


def test_words_or_vectors_alone_rank_by_themselves(tables: TableWorld, endpoint: str) -> None:
    words = explained(tables, endpoint, "傾き", mode="words").candidates
    assert {each.json_path for each in words} == {"/1/content"}
    vectors = explained(tables, endpoint, "傾き", mode="vectors").candidates
    assert {each.json_path for each in vectors} == {"/0/content", "/1/content", "/2/content"}
    assert [each.nearest_rank for each in vectors] == [each.rank for each in vectors]
    assert {each.words for each in vectors} == {None}


def test_an_expected_node_is_explained_at_any_rank(tables: TableWorld, endpoint: str) -> None:
    said = explained(tables, endpoint, "傾き", expected="/articles/1/content")
    assert [each.rank for each in said.expected] == [
        each.rank for each in said.candidates if each.json_path == "/1/content"
    ]
    nowhere = explained(tables, endpoint, "傾き", mode="words", expected="/articles/2/content")
    assert nowhere.expected == ()


def test_an_expected_node_below_the_results_is_searched_deeper(tables: TableWorld) -> None:
    many = {str(number): long(f"傾き{number}の") for number in range(60)}
    _, _, endpoint = tables.indexed({**many, "last": long("公式")})
    far = explained(tables, endpoint, "傾き", mode="vectors").candidates
    missing = next(f"/{number}" for number in [*many, "last"] if f"/{number}" not in {each.json_path for each in far})

    said = explained(tables, endpoint, "傾き", mode="vectors", expected=missing)

    assert said.expected
    assert all(each.rank is not None and each.rank > len(far) / 2 for each in said.expected)


@pytest.mark.parametrize("pointer", ["/notes/content", "/articles/9/content", "/articles", "nonsense"])
def test_a_node_outside_the_tool_is_not_explained(tables: TableWorld, endpoint: str, pointer: str) -> None:
    assert explained(tables, endpoint, "切片", expected=pointer).expected == ()


def test_an_endpoint_without_the_tool_explains_nothing(tables: TableWorld, endpoint: str) -> None:
    tool = tool_of(tables, endpoint)
    other = tables.endpoint()
    said = search_of(tables).explanation(other, tool, "傾き", top_k=5, expected="/articles/1/content")
    assert (said.candidates, said.expected) == ((), ())
