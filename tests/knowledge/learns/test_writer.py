"""Generated `learns`."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.learns.actions import names_action
from sakuin.knowledge.learns.writer import complete_learns, write_learns
from sakuin.knowledge.page import ChunkType, Explanation, Page

EMPTY = Page(title="式と計算", explanations=())


def explanation(title: str, kind: ChunkType = "rule", content: str = "") -> Explanation:
    return Explanation(anchor="rule-a", type=kind, title=title, content=content or title, position=0)


@pytest.mark.parametrize(
    "item",
    [
        *("移項のルール", "和の計算", "頂点を求める", "解の求め方（公式）", "係数を比べる方法", "How to factor"),
        "Find the axis",
    ],
)
def test_items_that_say_what_to_do_name_an_action(item: str) -> None:
    assert names_action(item)


@pytest.mark.parametrize("item", ["D=0 で重解", "傾きの意味", "右上がりになる", "a > 0", "The quadratic formula", ""])
def test_items_that_state_a_fact_name_none(item: str) -> None:
    assert not names_action(item)


@given(st.text(min_size=1, max_size=40), st.sampled_from(get_args(ChunkType)), st.text(max_size=80))
def test_three_to_five_distinct_actions_are_written_for_anything(title: str, kind: ChunkType, text: str) -> None:
    items = write_learns(explanation(title, kind, text), EMPTY)
    assert 3 <= len(items) == len(set(items)) <= 5
    assert items == write_learns(explanation(title, kind, text), EMPTY)


def test_items_are_built_from_the_name_and_the_steps() -> None:
    items = write_learns(
        explanation("頂点の求め方", "method", "頂点の求め方\n1. 平方完成の形に直す\n2. 符号を読む"), EMPTY
    )
    assert items[:4] == ("頂点の求め方", "平方完成の形に直す手順", "符号を読む手順", "頂点を求める手順")


def test_english_pages_get_english_items() -> None:
    page = Page(title="Lines", explanations=())
    assert write_learns(explanation("Slope", content="Rise over run."), page)[0] == "How to use Slope"


def test_the_authors_items_come_first_and_are_completed_to_three() -> None:
    items, completed = complete_learns(["・移項の方法", " 移項の方法 ", ""], explanation("移項"), EMPTY)
    assert (items[0], len(items), completed) == ("移項の方法", 3, True)


def test_more_than_five_items_are_cut_and_three_are_left_alone() -> None:
    assert complete_learns([f"{number}を解く" for number in range(7)], explanation("甲"), EMPTY)[1]
    assert complete_learns(["甲", "乙", "丙"], explanation("甲"), EMPTY) == (("甲", "乙", "丙"), False)
