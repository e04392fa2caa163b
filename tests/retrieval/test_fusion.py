"""Merging the two rankings of a Table."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.retrieval.fusion import ScoredId, fuse

SCORES = st.floats(min_value=0, max_value=50, allow_subnormal=False)
RANKINGS = st.dictionaries(st.sampled_from("abcdefghij"), SCORES).map(
    lambda scores: [ScoredId(*each) for each in sorted(scores.items(), key=lambda each: -each[1])]
)


def ranking(**scores: float) -> list[ScoredId]:
    return [ScoredId(*each) for each in scores.items()]


def names(found: Sequence[ScoredId]) -> list[str]:
    return [each.name for each in found]


def test_a_score_is_the_share_of_the_best_in_each_ranking() -> None:
    merged = fuse(ranking(a=0.9, b=0.8, c=0.7), ranking(b=10, c=5), words=0.6)
    assert merged == [
        ScoredId("b", pytest.approx(0.8)),
        ScoredId("a", pytest.approx(0.4)),
        ScoredId("c", pytest.approx(0.3)),
    ]


def test_sixth_in_both_rankings_beats_the_first_of_one() -> None:
    left = ranking(l1=0.90, l2=0.89, l3=0.88, l4=0.87, l5=0.86, x=0.85, l7=0.5)
    right = ranking(r1=10, r2=9.9, r3=9.8, r4=9.7, r5=9.6, x=9.5)
    assert names(fuse(left, right))[0] == "x"


def test_the_words_decide_between_neighbours_in_meaning_and_the_meaning_between_equal_words() -> None:
    assert names(fuse(ranking(a=0.86, b=0.85, c=0.7), ranking(b=3, a=1))) == ["b", "a", "c"]
    assert names(fuse(ranking(a=0.86, b=0.85, c=0.7), ranking(b=2, a=2))) == ["a", "b", "c"]


def test_where_no_word_is_found_the_meaning_alone_orders_and_where_nothing_is_near_the_words() -> None:
    assert names(fuse(ranking(a=0.9, b=0.8), [])) == ["a", "b"]
    assert names(fuse([], ranking(b=2, a=1))) == ["b", "a"]
    assert fuse([], []) == []


def test_a_single_result_has_the_best_score() -> None:
    assert fuse(ranking(a=0.3), ranking(a=0.1)) == [ScoredId("a", 1.0)]


def test_ties_go_to_the_better_best_rank_then_to_the_smaller_id() -> None:
    assert names(fuse(ranking(b=0.5, a=0.5), ranking(b=0.5, a=0.5))) == ["b", "a"]
    assert names(fuse(ranking(b=1.0), ranking(a=1.0), words=0.5)) == ["a", "b"]


def test_an_id_that_stands_twice_in_a_ranking_counts_once() -> None:
    twice = [ScoredId("a", 0.9), ScoredId("b", 0.8), ScoredId("a", 0.1)]
    assert fuse(twice, []) == fuse(ranking(a=0.9, b=0.8), [])


@given(RANKINGS, RANKINGS)
def test_nothing_is_lost_and_the_scores_fall_from_one_to_zero(
    nearest: list[ScoredId], matching: list[ScoredId]
) -> None:
    merged = fuse(nearest, matching)
    assert sorted(names(merged)) == sorted({*names(nearest), *names(matching)})
    scores = [each.score for each in merged]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)


@given(RANKINGS)
def test_one_ranking_keeps_its_order(only: list[ScoredId]) -> None:
    assert names(fuse(only, only)) == names(only)
