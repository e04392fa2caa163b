"""Explanations of the answers of Search Tools."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from sakuin.tables.nodes import Found
from sakuin.tables.search import TableExplanation

from tests.worlds import TableWorld, long

DOCUMENT = {
    "articles": [
        {"content": long("二次方程式の解の公式")},
        {"content": long("一次関数の傾き")},
        {"content": long("確率の求め方")},
    ],
    "notes": {"content": long("一次関数の切片")},
}


@pytest.fixture(scope="module")
def endpoint(tables: TableWorld) -> str:
    """An endpoint with a tool over the articles alone."""
    table = tables.table(DOCUMENT)
    # A tool over everything: the notes are indexed too.
    tables.tool(table, "", name="all")
    made = tables.endpoint(tables.tool(table, "/articles"))
    tables.settle()
    return made


def explained(tables: TableWorld, endpoint: str, query: str, **how: object) -> TableExplanation:
    return tables.table_search().explanation(endpoint, tables.bound(endpoint).tools[0], query, **how)


def test_a_candidate_has_the_ranks_and_scores_of_both_searches(tables: TableWorld, endpoint: str) -> None:
    best = explained(tables, endpoint, "傾き").candidates[0]
    assert (best.json_path, best.ranked.words.matched) == ("/1/content", ("傾き",))
    assert best.found.matching_rank in (1, 2)
    assert best.ranked.words.share > 0.5
    assert best.found.nearest_rank is not None
    assert best.found.cosine is not None
    assert -1 <= best.found.cosine <= 1
    other = next(each for each in explained(tables, endpoint, "傾き").candidates if each.json_path == "/0/content")
    assert (other.found.matching_rank, other.ranked.words.share, other.ranked.words.matched) == (None, 0.0, ())


def test_words_or_vectors_alone_rank_by_themselves(tables: TableWorld, endpoint: str) -> None:
    words = explained(tables, endpoint, "傾き", mode="words").candidates
    assert {each.json_path for each in words} == {"/1/content"}
    vectors = explained(tables, endpoint, "傾き", mode="vectors").candidates
    assert {each.json_path for each in vectors} == {"/0/content", "/1/content", "/2/content"}
    assert [each.found.nearest_rank for each in vectors] == [each.rank for each in vectors]
    assert {each.ranked.words.share for each in vectors} == {0.0}


def test_an_expected_node_is_explained_at_any_rank(tables: TableWorld, endpoint: str) -> None:
    said = explained(tables, endpoint, "傾き", expected="/articles/1/content")
    assert [each.rank for each in said.expected] == [
        each.rank for each in said.candidates if each.json_path == "/1/content"
    ]
    nowhere = explained(tables, endpoint, "傾き", mode="words", expected="/articles/2/content")
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
