"""`sakuin search` and `sakuin chunk`."""

import pytest

from tests.builders import a_page
from tests.cli.conftest import Keeper

PAGE = {
    "rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。",
    "method-square": "平方完成: 二次式を平方の形に直す方法です。",
    "ex-formula": "例題 解の公式: 解の公式で解きます。",
}
LONG = "junior/とても長い名前の教材が入っている長いフォルダの中の二次方程式の解き方_教材"


@pytest.fixture
def filled(keeper: Keeper) -> Keeper:
    keeper.world.put(f"{LONG}.html", a_page(PAGE))
    return keeper


def test_results_show_what_an_agent_gets(filled: Keeper) -> None:
    said = filled.sakuin("search", "解の公式", "--top-k", "2")
    assert said.code == 0
    first, link, *learns_and_rest = said.out.splitlines()
    assert first.startswith(" 1  解の公式  rule  ")
    assert link == f"    /{LONG}.html#rule-formula"
    assert learns_and_rest[0].startswith("    ・")
    assert "\x1b" not in said.out


def test_json_is_the_structured_answer_itself(filled: Keeper) -> None:
    answer = filled.sakuin("search", "解の公式", "--json").document
    assert set(answer) == {"query", "results", "no_good_match", "suggestions"}
    assert answer["results"][0]["id"] == f"{LONG}#rule-formula"


def test_filters_are_passed_on(filled: Keeper) -> None:
    answer = filled.sakuin("search", "解の公式", "--type", "example", "--json").document
    assert [result["type"] for result in answer["results"]] == ["example"]
    assert filled.sakuin("search", "解の公式", "--type", "recipe").code == 2
    assert filled.sakuin("search", "解の公式", "--top-k", "51").code == 2


def test_no_good_match_is_an_honest_answer(filled: Keeper) -> None:
    said = filled.sakuin("search", "zzzz")
    assert said.code == 0
    assert said.out.startswith("No good match for 「zzzz」\n")


def test_a_search_that_had_to_do_without_vectors_says_so(filled: Keeper) -> None:
    filled.world.embedder.down = True
    said = filled.sakuin("search", "解の公式")
    assert said.code == 0
    assert said.out.startswith("The embedding service does not answer, so only words were compared")
    assert "解の公式  rule" in said.out


def test_a_question_that_was_read_otherwise_says_so(filled: Keeper) -> None:
    said = filled.sakuin("search", "へいほうかんせい")
    assert said.out.startswith("Searched for 「平方完成」\n")
    answer = filled.sakuin("search", "へいほうかんせい", "--json").document
    assert answer["understood_as"] == "平方完成"
    assert answer["results"][0]["matched"][0] == "平方完成"


def test_another_tool_is_called_by_its_name(filled: Keeper) -> None:
    said = filled.sakuin("search", "解の公式", "--tool", "nope", "--json")
    assert (said.code, said.document) == (1, {"error": "Unknown tool: nope"})


def test_a_chunk_is_shown_in_full(filled: Keeper) -> None:
    said = filled.sakuin("chunk", f"{LONG}#rule-formula")
    assert said.code == 0
    assert said.out.startswith(f"解の公式  rule\n/{LONG}.html#rule-formula\n")
    assert "    係数を代入して二次方程式を解く公式です。\n" in said.out
    assert filled.sakuin("chunk", f"{LONG}#rule-formula", "--json").document["chunk"]["anchor"] == "rule-formula"


def test_an_unknown_chunk_is_said_in_the_tools_own_sentence(filled: Keeper) -> None:
    said = filled.sakuin("chunk", "x#rule-y")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("sakuin: ")
    assert "x#rule-y" in said.err
    assert set(filled.sakuin("chunk", "x#rule-y", "--json").document) == {"error"}
