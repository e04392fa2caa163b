"""`sakuin search` and `read`."""

from pathlib import Path

import pytest

from tests.builders import a_page
from tests.cli.conftest import Operator
from tests.cli.deployment import Deployment

PAGE = {
    "rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。",
    "method-square": "平方完成: 二次式を平方の形に直す方法です。",
    "ex-formula": "例題 解の公式: 解の公式で解きます。",
}
LONG = "junior/とても長い名前の教材が入っている長いフォルダの中の二次方程式の解き方_教材"


@pytest.fixture(scope="module")
def library(deployment: Deployment) -> Deployment:
    """A library with one page, which all commands here read."""
    deployment.empty()
    deployment.put(f"{LONG}.html", a_page(PAGE))
    return deployment


@pytest.fixture
def filled(library: Deployment, tmp_path: Path) -> Operator:
    return Operator(tmp_path, library)


def test_results_show_what_an_agent_gets(filled: Operator) -> None:
    found = filled.sakuin("search", "解の公式", "--top-k", "2")
    assert found.code == 0
    first, link, *learns_and_rest = found.out.splitlines()
    assert first.startswith(" 1  解の公式  ")
    assert link == f"    /{LONG}.html#rule-formula"
    assert learns_and_rest[0].startswith("    ・")
    assert "\x1b" not in found.out


def test_json_is_the_structured_answer_itself(filled: Operator) -> None:
    answer = filled.sakuin("search", "解の公式", "--json").document
    assert set(answer) == {"note", "query", "results", "no_good_match", "links", "uncalibrated"}
    assert answer["results"][0]["url"] == f"/{LONG}.html#rule-formula"


def test_filters_are_passed_on(filled: Operator) -> None:
    answer = filled.sakuin("search", "解の公式", "--type", "example", "--json").document
    assert [result["url"].rpartition("#")[2] for result in answer["results"]] == ["ex-formula"]
    assert filled.sakuin("search", "解の公式", "--in", "junior", "--json").document["results"]
    elsewhere = filled.sakuin("search", "解の公式", "--in", "senior")
    assert (elsewhere.code, "There is no folder 'senior'. There are: junior" in elsewhere.err) == (1, True)
    assert filled.sakuin("search", "解の公式", "--type", "recipe").code == 2
    assert filled.sakuin("search", "解の公式", "--top-k", "51").code == 2


def test_no_good_match_is_an_honest_answer(filled: Operator) -> None:
    found = filled.sakuin("search", "zzzz")
    assert found.code == 0
    assert found.out.startswith('No good match for "zzzz"\n')


def test_a_search_without_vectors_names_what_it_had_to_do_without(filled: Operator) -> None:
    # A slow first request gets a second one beside it, and each is tried twice.
    filled.deployment.functions.openai.statuses = [500] * 4
    found = filled.sakuin("search", "解の公式")
    filled.deployment.functions.openai.statuses.clear()
    assert found.code == 0
    assert found.out.startswith("The embedding service does not answer, so only words were compared")
    assert " 1  解の公式  " in found.out


def test_a_question_that_is_read_in_another_way_shows_how(filled: Operator) -> None:
    found = filled.sakuin("search", "へいほうかんせい")
    assert found.out.startswith('Searched for "平方完成"\n')
    answer = filled.sakuin("search", "へいほうかんせい", "--json").document
    assert answer["understood_as"] == "平方完成"


def test_another_tool_is_called_by_its_name(filled: Operator) -> None:
    knowledge = {"SAKUIN_TOOLS_MCP_URL": f"{filled.deployment.url}/mcp", "SAKUIN_TOOLS_API_KEY": "sk_sakuin_agent"}
    found = filled.sakuin("search", "解の公式", "--tool", "nope", "--json", **knowledge)
    assert found.code == 1
    assert found.document["error"].startswith(f"Unknown tool: nope. {filled.deployment.url}/mcp does not have it")
    unset = filled.sakuin("search", "解の公式", "--tool", "nope")
    assert unset.err.startswith("sakuin: SAKUIN_TOOLS_MCP_URL is not set: run `sakuin up` first")


def test_a_section_is_shown_in_full(filled: Operator) -> None:
    shown = filled.sakuin("read", f"{LONG}#rule-formula", "--details")
    assert shown.code == 0
    assert shown.out.startswith(f"解の公式  rule\n/{LONG}.html#rule-formula\n")
    assert "    係数を代入して二次方程式を解く公式です。\n" in shown.out
    assert (
        filled.sakuin("read", f"{LONG}#rule-formula", "--details", "--json").document["chunk"]["anchor"]
        == "rule-formula"
    )


def test_an_unknown_chunk_is_reported_in_the_tools_own_sentence(filled: Operator) -> None:
    shown = filled.sakuin("read", "x#rule-y", "--details")
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith("sakuin: ")
    assert "x#rule-y" in shown.err
    assert set(filled.sakuin("read", "x#rule-y", "--details", "--json").document) == {"error"}


def test_a_page_is_read_to_its_end(filled: Operator, library: Deployment) -> None:
    shown = filled.sakuin("read", f"{LONG}#method-square")
    assert shown.code == 0
    assert shown.out.startswith(f"# 二次方程式の解き方\n/{LONG}.html\n\n## 平方完成 {{#method-square}}\n")
    library.put("long.html", a_page({"rule-a": "長文: " + "とても長い文です。" * 2_000}))
    answer = filled.sakuin("read", "long", "--section", "長文", "--json").document
    assert answer["text"].count("とても長い文です。") == 2_000
    assert filled.sakuin("read", "nowhere").code == 1
    lines = "\n".join(f"{number}: {'長い行 ' * 300}" for number in range(40))
    library.put("lines.html", a_page({"rule-a": f"行: <pre>{lines}</pre>"}))
    place = filled.sakuin("search", "7: 長い行", "--exact", "--material", "lines", "--json").document["places"][0]
    read = filled.sakuin("read", place["id"], "--line", place["line"], "--lines", 20, "--json").document["text"]
    assert [line.partition(":")[0] for line in read.split("\n")] == [str(number) for number in range(7, 27)]


def test_exact_text_is_found_or_the_code_is_one(filled: Operator) -> None:
    found = filled.sakuin("search", "平方の形", "--exact", "--in", "junior")
    assert (found.code, found.out.count("\n")) == (0, 1)
    assert f"/{LONG}.html#method-square:" in found.out
    places = filled.sakuin("search", "公式", "--exact", "--material", LONG, "--json").document["places"]
    assert {place["id"] for place in places} >= {f"{LONG}#rule-formula", f"{LONG}#ex-formula"}
    assert filled.sakuin("search", "nowhere at all", "--exact").code == 1


def test_a_phrase_that_no_result_has_is_named(filled: Operator) -> None:
    assert "has “平方の円” exactly" in filled.sakuin("search", "「平方の円」とは").out
