"""Generated `learns`."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.learns.from_text import language_of_text, names_action
from sakuin.knowledge.learns.writer import complete_learns, write_learns
from sakuin.knowledge.page import ChunkType, Explanation, Page

EMPTY = Page(title="式と計算", explanations=())


def explanation(title: str, kind: ChunkType = "rule", content: str = "") -> Explanation:
    return Explanation(anchor="rule-a", type=kind, title=title, content=content or title, position=0)


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
    texts = ("二次方程式", "的を射る", "二次方程的解法", "The area", "Der Satz und die Regel")
    assert [language_of_text(text) for text in texts] == ["ja", "ja", "other", "en", "other"]


def test_an_example_of_an_occasion_is_about_its_way_of_thinking() -> None:
    rule = explanation("場合分けをする場面")
    example = Explanation(
        anchor="ex-a",
        type="example",
        title="絶対値の方程式 |x-2|=3",
        content="絶対値の方程式 |x-2|=3 を解きます。",
        position=1,
        illustrates=("rule-a",),
    )
    items = write_learns(example, Page(title="式と計算", explanations=(rule, example)))
    assert "場合分けをする場面の考え方を例題で確かめる方法" in items


@given(st.text(min_size=1, max_size=40), st.sampled_from(get_args(ChunkType)), st.text(max_size=80))
def test_three_to_five_distinct_items_are_stored_for_anything(title: str, kind: ChunkType, text: str) -> None:
    items = complete_learns((), explanation(title, kind, text), EMPTY)
    assert 3 <= len(items) == len(set(items)) <= 5
    assert items == complete_learns((), explanation(title, kind, text), EMPTY)


def test_items_are_built_from_the_name_and_the_steps_and_five_are_stored() -> None:
    steps = explanation("頂点の求め方", "method", "頂点の求め方 y=x^2+2x\n1. 平方完成の形に直す\n2. 符号を読む")
    items = write_learns(steps, EMPTY)
    assert items[:4] == ("頂点の求め方", "平方完成の形に直す手順", "符号を読む手順", "頂点を求める手順")
    assert len(complete_learns(items, steps, EMPTY)) == 5


EXERCISE = re.compile(r"例題|問題|解き直す|答え|計算|Work through|answer")
HISTORY = (
    "革命の原因\nフランスの財政（国庫）は、アメリカ独立戦争への支援で悪化していました。1789年、国王ルイ16世は三部会を"
    "召集しました。身分ごとの投票に第三身分が反発した。"
)
LAW = (
    "Treaties\nAfter the war, the European Coal and Steel Community was founded in 1951. It had six members. "
    "Minor amendments were made during the 1960s, when the market grew. Do members decide alone?"
)


def items_of(title: str, content: str, kind: ChunkType = "example", page: Page = EMPTY) -> tuple[str, ...]:
    return write_learns(explanation(title, kind, content), page)


@pytest.mark.parametrize(
    ("content", "items"),
    [
        (HISTORY, ()),
        (LAW, ()),
        ("What compound interest is\nInterest is added to the capital.", ()),
        ("The formula\nIt has five letters.", ()),
        ("Use cases\nTea and soup.", ()),
        ("State machines\nState machines have states.\n1. A machine starts.\n2. State it", ()),
        ("Units\ninch | in | 0.0254\n```python\nYou can not read this.\n```", ()),
        ("Verträge\nDie Verträge wurden im 20. Jahrhundert geändert.", ()),
        ("条约\n维多利亚州1975年颁布了成文宪法。", ()),
        ("How to reef\nThe sail gets smaller.", ("How to reef",)),
        ("Using a compass\nNorth is up.", ("Using a compass",)),
        ("Installing the sail", ("Installing the sail",)),
        ("Set the sail\nIt is set.", ("Set the sail",)),
        ("Onions\n1. Chop the onion\n2. Use a pan", ("Use a pan",)),
        (
            "Sails\nFrom force six on, you can reef the mainsail. This section explains how to fold it. Use a line.",
            ("Reef the mainsail", "How to fold it", "Use a line"),
        ),
        (
            "玉ねぎを切る\n1. 皮をむいておく\n2. 半分に切る",
            ("玉ねぎを切る方法", "皮をむいておく手順", "半分に切る手順"),
        ),
        ("温泉\n卵を茹でることができます。お湯は熱いです。", ("卵を茹でることができる",)),
    ],
)
def test_outside_of_mathematics_are_only_actions_that_the_text_names(content: str, items: tuple[str, ...]) -> None:
    found = items_of(content.partition("\n")[0], content, page=Page(title="", explanations=()))
    assert found == items


def test_what_is_stored_is_completed_by_sentences_and_names() -> None:
    page = Page(title="Sea", explanations=())
    assert complete_learns((), explanation("Waves", content="Waves\nThe wind makes waves.\nThey break."), page) == (
        *("The wind makes waves", "They break", "Waves"),
    )


def test_exercises_stay_where_the_page_has_formulas() -> None:
    formulas = explanation("判別式", content=r"\(D = b^2 - 4ac\)")
    page = Page(title="二次方程式", explanations=(formulas, explanation("解の個数", "tip", "解の個数を数えます。")))
    assert "「解の個数」の例題を自分で解き直す手順" in items_of("解の個数", "解の個数を数えます。", "example", page)
    assert not any(EXERCISE.search(item) for item in items_of("解の個数", "解の個数を数えます。", "example"))


def test_code_makes_no_text_mathematical() -> None:
    code = explanation("関数", "example", "関数\n```\nx = 1\n```\nここで値を返します。")
    assert not any(EXERCISE.search(item) for item in write_learns(code, Page(title="関数", explanations=(code,))))


def test_the_authors_items_come_first_completed_to_three_or_cut_to_five() -> None:
    items = complete_learns(["・移項の方法", " 移項の方法 ", ""], explanation("移項"), EMPTY)
    assert (items[0], len(items)) == ("移項の方法", 3)
    seven = [f"{number}を解く" for number in range(7)]
    for given_items, stored in ((seven, seven[:5]), (["甲", "乙", "丙"], ["甲", "乙", "丙"])):
        assert complete_learns(given_items, explanation("甲"), EMPTY) == tuple(stored)
