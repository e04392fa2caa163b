"""`sakuin eval` and `sakuin explain`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from sakuin.errors import Unavailable
from sakuin_cli.client import DeploymentClient
from sakuin_cli.evaluation.questions import Question
from sakuin_cli.evaluation.run import Run, ask_all
from sakuin_cli.rest import session

from tests.builders import a_page
from tests.cli.conftest import Operator
from tests.cli.deployment import ADMIN_KEY, Deployment
from tests.cli.recorded import Answer, recorded

MATERIAL = "junior/二次方程式の解き方_教材"
FORMULA, SQUARE = f"{MATERIAL}#rule-formula", f"{MATERIAL}#method-square"
PAGE = {
    "rule-formula": "解の公式: 係数を代入して二次方程式を解く公式です。",
    "method-square": "平方完成: 二次式を平方の形に直す方法です。",
    "ex-formula": "例題 解の公式: 解の公式で解きます。",
}
RIGHT = {"query": "解の公式", "gold": [FORMULA], "category": "keyword"}
WRONG = {"query": "平方完成", "gold": [f"{MATERIAL}#rule-gone"], "category": "keyword"}
ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
OFF = {"query": "zzzz", "gold": [], "category": "off-topic"}


@pytest.fixture(scope="module")
def library(deployment: Deployment) -> Deployment:
    """A library with one page, which all commands here ask."""
    deployment.empty()
    deployment.put(f"{MATERIAL}.html", a_page(PAGE))
    return deployment


@pytest.fixture
def filled(library: Deployment, tmp_path: Path) -> Operator:
    library.failures.clear()
    return Operator(tmp_path, library)


def labels(operator: Operator, *lines: Mapping[str, Any] | str, name: str = "labels.jsonl") -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    return operator.file(name, "\n".join(texts).encode())


def test_questions_without_a_good_match_or_an_expected_link_are_listed_with_the_reason(filled: Operator) -> None:
    shown = filled.sakuin("eval", labels(filled, RIGHT, WRONG, OFF, {"query": "qqqq"}))
    assert shown.code == 1
    assert shown.out.startswith("1 of 4 without a good match\n  qqqq  other, line 4\n")
    assert "1 of 4 without an expected link among the first 5" in shown.out
    assert f"expected {MATERIAL}#rule-gone" in shown.out
    assert "Nothing is indexed under this id." in shown.out
    assert "4 questions to search_knowledge, 2 listed" in shown.out
    assert "\x1b" not in shown.out
    right = filled.sakuin("eval", labels(filled, RIGHT, OFF))
    assert (right.code, "2 questions to search_knowledge, 0 listed" in right.out) == (0, True)


def test_lines_of_text_and_a_list_of_exercises_are_asked(filled: Operator) -> None:
    assert filled.sakuin("eval", filled.file("questions.txt", "解の公式\n平方完成\n".encode())).code == 0
    page = "<ol><li>解の公式で解け<li>zzzz</ol>".encode()
    asked = filled.sakuin("eval", filled.file("exam.html", page), "--json")
    assert [(one["line"], one["failure"]) for one in asked.document["failed"]] == [(2, "no good match")]


def test_a_bad_line_is_named_and_the_rest_is_measured(filled: Operator) -> None:
    file = labels(filled, RIGHT, '{"query": 1}', WRONG, {"query": "あ" * 1001, "gold": [FORMULA]})
    shown = filled.sakuin("eval", file, "--json")
    assert shown.code == 1
    assert shown.document["figures"]["all"]["questions"] == 2
    assert [line["line"] for line in shown.document["run"]["bad_lines"]] == [2, 4]
    assert "line 2 is left out: " in filled.sakuin("eval", file).out


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{\n"])
def test_a_file_without_a_question_is_an_error(filled: Operator, content: bytes) -> None:
    shown = filled.sakuin("eval", filled.file("labels.jsonl", content), "--json")
    assert (shown.code, set(shown.document)) == (1, {"error"})


def test_a_missed_bound_is_named_and_alone_costs_the_exit_code(filled: Operator) -> None:
    file = labels(filled, RIGHT, WRONG)
    assert filled.sakuin("eval", file, "--min", "recall@5=0.5", "--max", "refused=0").code == 0
    shown = filled.sakuin("eval", file, "--min", "recall@5=0.51")
    assert shown.code == 1
    assert "\nmissed recall@5 ≥ 0.51: 0.500\nNext: sakuin explain 平方完成 " in shown.out.replace("'", "")
    missed = filled.sakuin("eval", file, "--min", "hit@5=0.9", "--json").document["missed"]
    assert missed == [{"side": "min", "measure": "hit@5", "value": 0.9, "group": "all", "seen": 0.5}]
    assert filled.sakuin("eval", file, "--min", "much").code == 1


def test_two_saved_runs_are_compared_and_a_lost_answer_costs_the_exit_code(filled: Operator) -> None:
    file = labels(filled, RIGHT, {"query": "平方完成"})
    before = filled.file("before.json", filled.sakuin("eval", file, "--json").out.encode())
    filled.deployment.put(f"{MATERIAL}.html", a_page({"method-square": PAGE["method-square"]}))
    after = filled.file("after.json", filled.sakuin("eval", file, "--json").out.encode())
    filled.deployment.put(f"{MATERIAL}.html", a_page(PAGE))
    shown = filled.sakuin("eval", "--compare", before, after)
    assert shown.code == 1
    assert shown.out.startswith("**Search**: 1 of 2 questions have another answer, 1 lost theirs.\n")
    assert f"\n| lost | 解の公式 | [解の公式](</{FORMULA.replace('#', '.html#')}>) | " in shown.out
    assert "\n| hit@5 | 1.000 | 0.000 | -1.000 | " in shown.out
    same = filled.sakuin("eval", "--compare", before, before, "--json")
    assert (same.code, same.document["changed"], same.document["questions"]) == (0, [], 2)
    assert filled.sakuin("eval", "--compare", file, before).code == 1


def changed(operator: Operator, **members: object) -> Answer:
    """The deployment's own explanations, with other `members`; it has no Search Tools."""

    def answer(_method: str, path: str, body: bytes) -> tuple[int, object]:
        asked = json.loads(body)
        knowledge = {name: value for name, value in asked.items() if name not in ("tool", "mcp_id")}
        explained = httpx.post(operator.deployment.url + path, json=knowledge, headers=ADMIN, timeout=60)
        return explained.status_code, {**explained.json(), **members}

    return answer


def test_a_tool_that_is_still_being_indexed_is_shown_to_be(filled: Operator) -> None:
    with recorded(changed(filled, index_state="indexing")) as url:
        shown = filled.sakuin(
            *("eval", labels(filled, RIGHT), "--tool", "search_columns"),
            SAKUIN_URL=url,
            SAKUIN_TOOLS_MCP_URL=f"{url}/mcp/some-endpoint",
        )
    assert "The tool's index is not ready (indexing)" in shown.out


def asked(url: str, pauses: list[float]) -> Run:
    """The run over one question, by a person who does not wait between tries."""
    client = DeploymentClient(session(url, ADMIN_KEY))
    return ask_all(client, [Question(1, "解の公式", (FORMULA,))], sleep=pauses.append)


def test_a_deployment_that_stumbles_is_asked_again_and_one_that_is_gone_is_reported(filled: Operator) -> None:
    pauses: list[float] = []
    filled.deployment.failures += [503, 503]
    assert asked(filled.deployment.url, pauses).answers[0].failure(5) is None
    assert pauses == [1.0, 3.0]
    filled.deployment.failures += [503, 503, 503]
    with pytest.raises(Unavailable, match="Sakuin could not answer"):
        asked(filled.deployment.url, pauses)


def test_half_a_search_is_asked_again_and_never_measured(filled: Operator) -> None:
    pauses: list[float] = []
    degraded = recorded(changed(filled, degraded="only words were compared"))
    with degraded as url, pytest.raises(Unavailable, match="only words were compared"):
        asked(url, pauses)
    assert pauses == [1.0, 3.0]


def test_an_explanation_shows_the_question_the_results_and_their_parts(filled: Operator) -> None:
    shown = filled.sakuin("explain", "解の公式", FORMULA)
    assert shown.code == 0
    # What an author asks for comes before what explains it.
    assert shown.out.startswith(f"expected  {FORMULA}\n  It is in place 1 (")
    assert "\n\n解の公式\nembedded  " in shown.out
    assert "similarity" in shown.out
    assert "evidence" in shown.out
    assert "it is found." in shown.out
    assert "\x1b" not in shown.out
    alone = filled.sakuin("explain", "解の公式").out
    assert alone.startswith('An agent gets 3 results, first "解の公式"\n\n解の公式\nembedded  '), alone


def test_a_refused_question_still_shows_what_was_near(filled: Operator) -> None:
    shown = filled.sakuin("explain", "zzzz", FORMULA)
    assert shown.out.startswith("No good match: an agent gets the nearest three at most")
    assert "the answer is no good match, and has at most the nearest 3" in shown.out


def test_a_leg_alone(filled: Operator) -> None:
    words = filled.sakuin("explain", "解の公式", "--legs", "words", "--json").document
    assert all(result["cosine"] is None for result in words["results"])
    vectors = filled.sakuin("explain", "解の公式", "--legs", "vectors", "--json").document
    assert all(result["matched"] == [] for result in vectors["results"])


def test_the_order_has_the_questions_that_are_not_answered_first(filled: Operator) -> None:
    filled.file(f"site/{MATERIAL}.html", a_page(PAGE))
    weak = {"query": "例題を解く", "gold": [SQUARE]}
    arguments = ("learns", filled.folder / "site", "--questions", labels(filled, RIGHT, weak), "--json")
    sections = {one["id"]: one for one in filled.sakuin(*arguments).document["sections"]}
    assert [id for id, one in sections.items() if one["questions"]] == [SQUARE]
    assert sections[SQUARE]["questions"] == ["例題を解く"]


def test_learns_are_asked_as_questions_and_those_that_another_section_answers_are_refused(filled: Operator) -> None:
    site = filled.folder / "site"
    filled.file(f"site/{MATERIAL}.html", a_page(PAGE))
    # Both sections promise the same; only the words of the second one are about it.
    shared = "二次式を平方の形に直す方法"
    items = {
        "rule-formula": [shared, "係数を代入する計算", "符号の間違いを防ぐ方法"],
        "method-square": [shared, "平方完成の手順", "平方の形の読み方"],
    }
    file = filled.file("site/learns.yml", json.dumps({MATERIAL: items}).encode())
    assert filled.sakuin("learns", site, "--check", "--json").document["unasked"] == [FORMULA, SQUARE]
    filled.deployment.put("learns.yml", file.read_bytes())
    asked = filled.sakuin("learns", site, "--check", "--json").document
    elsewhere = [one["message"] for one in asked["refused"] if one["rule"] == "learns-elsewhere"]
    assert (asked["unasked"], elsewhere) == ([], [f"「{shared}」 of #rule-formula is answered by {SQUARE}"])
