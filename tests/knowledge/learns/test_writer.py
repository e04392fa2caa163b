"""Generated `learns`."""

import re
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
        explanation("頂点の求め方", "method", "頂点の求め方 y=x^2+2x\n1. 平方完成の形に直す\n2. 符号を読む"), EMPTY
    )
    assert items[:4] == ("頂点の求め方", "平方完成の形に直す手順", "符号を読む手順", "頂点を求める手順")


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
        (
            HISTORY,
            (
                "革命の原因の説明",
                "フランスの財政、アメリカ独立戦争、支援の説明",
                "国王ルイ16世、三部会、召集の説明",
                "身分ごとの投票に第三身分が反発したことの説明",
            ),
        ),
        (
            LAW,
            (
                "Explain Treaties",
                "Explain that the European Coal and Steel Community was founded in 1951",
                "Explain that Minor amendments were made during the 1960s, when the market grew",
                "Explain that it had six members",
            ),
        ),
        (
            "Verträge\nDie Verträge wurden im 20. Jahrhundert geändert. Zwei touristische Bahnen, die älter sind als "
            "das Land, verkehren auf schmalen Spuren bis zur Grenze im Norden. Seitdem gilt das Recht der Union.",
            (
                "Verträge",
                "Die Verträge wurden im 20. Jahrhundert geändert",
                "Zwei touristische Bahnen, die älter sind als das Land",
                "Seitdem gilt das Recht der Union",
            ),
        ),
        (
            "Wind\nFrom force six on, every crew reefs.\n- Jib first\nboat reef --all\nA reefed sail is smaller.",
            ("Explain Wind", "Explain that every crew reefs", "Explain that a reefed sail is smaller"),
        ),
        (
            "条约\n维多利亚州1975年颁布了成文宪法，但它是基于英国议会通过的1855年殖民宪法，作为《1855年维多利亚州宪法》的一部分。"
            "宪法可由州议会进行修订。霍顿的声明发表于2013年5月。",
            ("条约", "维多利亚州1975年颁布了成文宪法", "宪法可由州议会进行修订", "霍顿的声明发表于2013年5月"),
        ),
    ],
    ids=["ja", "en", "de", "list and code", "zh"],
)
def test_a_text_without_exercises_gets_what_its_sentences_say(content: str, items: tuple[str, ...]) -> None:
    found = items_of(content.partition("\n")[0], content, page=Page(title="", explanations=()))
    assert found == items
    assert not EXERCISE.search("\n".join(found))


def test_an_english_text_that_quotes_kanji_is_english() -> None:
    text = "The Yuan dynasty (元朝) was the empire or ruling dynasty of China that Kublai Khan of the Mongols founded."
    assert all(item.startswith("Explain ") for item in items_of("Yuan dynasty", text))


@pytest.mark.parametrize(
    ("title", "content", "items"),
    [
        (
            "玉ねぎを切る",
            "1. 皮をむいておく\n2. 半分に切る",
            ["玉ねぎを切る方法", "皮をむいておく手順", "半分に切る手順"],
        ),
        ("Onions", "1. Chop the onion\n2. Use a pan", ["Explain Onions", "How to chop the onion", "Use a pan"]),
        ("What is momentum?", "Momentum is mass times velocity.", ["Explain what momentum is"]),
    ],
)
def test_a_title_that_asks_or_names_an_action_and_steps_come_first(title: str, content: str, items: list[str]) -> None:
    found = items_of(title, f"{title}\n{content}", "method", Page(title="", explanations=()))
    assert list(found[: len(items)]) == items


def test_exercises_stay_where_the_page_has_formulas() -> None:
    formulas = explanation("判別式", content=r"\(D = b^2 - 4ac\)")
    page = Page(title="二次方程式", explanations=(formulas, explanation("解の個数", "tip", "解の個数を数えます。")))
    assert "「解の個数」の例題を自分で解き直す手順" in items_of("解の個数", "解の個数を数えます。", "example", page)
    assert not any(EXERCISE.search(item) for item in items_of("解の個数", "解の個数を数えます。", "example"))


def test_words_of_the_whole_page_are_no_item_of_one_explanation() -> None:
    texts = ("梅雨前線は、北海道に達しません。", "梅雨前線は、台風で消えます。", "梅雨前線は、停滞します。")
    page = Page(title="梅雨", explanations=tuple(explanation("梅雨", content=text) for text in texts))
    assert items_of("梅雨", texts[0], page=page)[0] == "北海道の説明"


def test_the_authors_items_come_first_and_are_completed_to_three() -> None:
    items = complete_learns(["・移項の方法", " 移項の方法 ", ""], explanation("移項"), EMPTY)
    assert (items[0], len(items)) == ("移項の方法", 3)


def test_more_than_five_items_are_cut_and_three_are_left_alone() -> None:
    seven = [f"{number}を解く" for number in range(7)]
    assert complete_learns(seven, explanation("甲"), EMPTY) == tuple(seven[:5])
    assert complete_learns(["甲", "乙", "丙"], explanation("甲"), EMPTY) == ("甲", "乙", "丙")
