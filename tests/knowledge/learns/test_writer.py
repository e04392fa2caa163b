"""Plain `learns`, and the completion of short lists."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.learns.actions import language_of_text, names_action
from sakuin.knowledge.learns.writer import complete_learns, plain_learns
from sakuin.knowledge.page import ChunkType, Explanation, Page

EMPTY = Page(title="式と計算", explanations=())


def explanation(title: str, kind: ChunkType = "rule", content: str = "", *, anchor: str = "rule-a") -> Explanation:
    headings = ("二次関数", "グラフ") if content == "heading" else ()
    return Explanation(anchor, kind, title, content or title, 0, headings)


def test_items_that_say_what_to_do_name_an_action_and_those_that_state_a_fact_none() -> None:
    actions = (
        "移項のルール",
        "和の計算",
        "頂点を求める",
        "解の求め方（公式）",
        "係数を比べる方法",
        "How to factor",
        "Find the axis",
    )
    facts = "D=0 で重解", "傾きの意味", "右上がりになる", "a > 0", "The quadratic formula", ""
    assert [item for item in (*actions, *facts) if names_action(item)] == [*actions]


def test_a_text_without_kana_is_japanese_unless_it_has_characters_of_chinese_alone() -> None:
    texts = ("二次方程式", "的を射る", "二次方程的解法", "The area", "Der Satz und die Regel", "Теорема")
    assert [language_of_text(text) for text in texts] == ["ja", "ja", "other", "en", "other", "other"]


@pytest.mark.parametrize("kind", get_args(ChunkType))
@pytest.mark.parametrize(("title", "page"), [("解の公式", EMPTY), ("Set the sail", Page("Sailing", ()))])
def test_items_of_each_type_name_an_action_with_the_title(title: str, page: Page, kind: ChunkType) -> None:
    items = plain_learns(explanation(title, kind), page)
    assert len(items) == 3
    assert all(names_action(item) and title in item for item in items)


def test_items_are_made_of_title_heading_and_page() -> None:
    assert plain_learns(explanation("頂点", content="heading"), EMPTY) == (
        "「頂点」のルール",
        "「グラフ」で「頂点」を利用する方法",
        "「式と計算」で「頂点」を利用する方法",
    )
    assert plain_learns(explanation("「頂点」とは", "definition"), Page("", ()))[0] == (
        "「『頂点』とは」の意味を説明する方法"
    )


def test_items_in_another_language_are_names_alone() -> None:
    texts = "Die Wende", "Wende", "Segeln"
    page = Page("Segeln", (), language="de-DE")
    assert plain_learns(explanation(texts[0]), page) == ("Die Wende", "Segeln › Die Wende", "Die Wende (rule)")


def test_a_section_of_a_heading_has_none_on_whatever_page() -> None:
    section = replace(explanation("Syntax", anchor="method-syntax"), is_section=True)
    assert plain_learns(section, EMPTY) == plain_learns(section, Page("Rust", (), by_headings=True)) == ()


@given(st.text(min_size=1, max_size=40), st.sampled_from(get_args(ChunkType)), st.text(max_size=80))
def test_three_distinct_items_are_made_for_anything(title: str, kind: ChunkType, text: str) -> None:
    items = complete_learns((), explanation(title, kind, text), EMPTY)
    assert len(items) == len(set(items)) == 3
    assert items == complete_learns((), explanation(title, kind, text), EMPTY)


def test_the_authors_items_come_first_completed_to_three_or_cut_to_five() -> None:
    items = complete_learns(["・移項の方法", " 移項の方法 ", ""], explanation("移項"), EMPTY)
    assert items == ("移項の方法", "「移項」のルール", "「式と計算」で「移項」を利用する方法")
    seven = [f"{number}を解く" for number in range(7)]
    for given_items, stored in ((seven, seven[:5]), (["甲", "乙", "丙"], ["甲", "乙", "丙"])):
        assert complete_learns(given_items, explanation("甲"), EMPTY) == tuple(stored)
