"""Rankings merged into one."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.domain.fusion import fused
from sakuin.errors import Invalid

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), max_size=4)


def test_a_score_is_the_sum_of_reciprocal_ranks() -> None:
    assert fused([["a", "b"], ["b"]]) == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)]


def test_sixth_in_both_legs_beats_the_first_of_one() -> None:
    left, right = ["l1", "l2", "l3", "l4", "l5", "x"], ["r1", "r2", "r3", "r4", "r5", "x"]
    assert fused([left, right])[0] == ("x", 2 / 66)


def test_ties_go_to_the_better_best_rank_then_to_the_smaller_id() -> None:
    assert [name for name, _ in fused([["b"], ["a"]])] == ["a", "b"]
    # Twice second is as good as once first, but never was first.
    assert [name for name, _ in fused([["x", "a"], ["y", "a"]], k=0)] == ["x", "y", "a"]


def test_a_weight_counts_and_zero_silences() -> None:
    assert [name for name, _ in fused([["a"], ["b"]], weights=[1, 2])] == ["b", "a"]
    assert fused([["a"], ["b"]], weights=[1, 0])[1] == ("b", 0.0)


def test_an_id_that_stands_twice_in_a_ranking_counts_once() -> None:
    assert fused([["a", "a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_nothing_found_is_nothing() -> None:
    assert fused([]) == fused([[], []]) == []


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], [1, -1], [1, float("nan")]])
def test_weights_that_do_not_fit_are_invalid(weights: list[float]) -> None:
    with pytest.raises(Invalid):
        fused([["a"], ["b"]], weights=weights)


@given(RANKINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_legs_does_not_matter_and_nothing_is_lost(rankings: list[list[str]], random: Random) -> None:
    shuffled = list(rankings)
    random.shuffle(shuffled)
    merged = fused(rankings)
    assert merged == fused(shuffled)
    assert {name for name, _ in merged} == {name for ranking in rankings for name in ranking}
    assert [score for _, score in merged] == sorted((score for _, score in merged), reverse=True)


@given(st.lists(st.sampled_from("abcdefghij"), unique=True))
def test_one_ranking_keeps_its_order(ranking: list[str]) -> None:
    assert [name for name, _ in fused([ranking, ranking])] == ranking
