"""`sakuin gaps`, `reconcile` and `changes`."""

import json

import boto3
import pytest
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator
from tests.cli.recorded import recorded
from tests.functions import MATERIALS


def test_gaps_are_listed_and_one_shows_what_a_page_would_need(operator: Operator) -> None:
    operator.deployment.put("a.html", a_page(FORMULA))
    questions = RefusedQuestions(operator.deployment.client)
    for question in ("円周率の求め方は?", "円周率を計算したい", "opening hours"):
        questions.record(question, None)
    listed = operator.sakuin("gaps", "--json").document
    gap = listed["gaps"][0]
    assert (gap["asked"], set(gap["questions"])) == (2, {"円周率の求め方は?", "円周率を計算したい"})
    assert gap["name"] in operator.sakuin("gaps").out
    shown = operator.sakuin("gaps", gap["id"])
    assert shown.code == 0
    assert "円周率" in shown.out
    assert "a#rule-formula" in shown.out
    gone = operator.sakuin("gaps", "gone")
    assert (gone.code, "This gap is no longer there" in gone.err) == (1, True)


def test_no_gap_says_whether_questions_are_recorded(operator: Operator) -> None:
    shown = operator.sakuin("gaps")
    assert (shown.code, "RecordRefusedQuestions=true" in shown.out) == (0, True)


def test_what_agents_say_of_answers_becomes_gaps_and_labels(operator: Operator) -> None:
    operator.deployment.put("a.html", a_page(FORMULA))
    feedback = Feedback(operator.deployment.client)
    for id, question, is_answered in (
        ("a#rule-formula", "二次方程式を解く公式は", True),
        ("a#rule-formula", "二次方程式を解く公式は", True),
        ("b#rule-other", "二次方程式を解く公式は", False),
        ("a#rule-formula", "", True),
        ("", "円周率の求め方は", False),
    ):
        feedback.record(id, question, is_answered)
    gaps = {gap["questions"][0]: gap["unanswered"] for gap in operator.sakuin("gaps", "--json").document["gaps"]}
    assert gaps == {"二次方程式を解く公式は": 1, "円周率の求め方は": 1}
    written = operator.sakuin("eval", "labels.jsonl", "--bootstrap", "--feedback", "--json").document
    assert written == {"file": "labels.jsonl", "questions": 1}
    label = {"query": "二次方程式を解く公式は", "gold": ["a#rule-formula"], "category": "feedback"}
    assert json.loads((operator.folder / "labels.jsonl").read_text()) == label
    assert operator.sakuin("eval", "labels.jsonl", "--min", "hit@5=1").code == 0
    elsewhere = operator.sakuin("eval", "b.jsonl", "--bootstrap", "--feedback", "--prefix", "b", "--json").document
    assert elsewhere["questions"] == 0
    assert operator.sakuin("eval", "labels.jsonl", "--feedback").code == 2


def test_what_differs_is_shown_repaired_and_gone_the_next_time(operator: Operator) -> None:
    operator.deployment.write("x.html", a_page(FORMULA))
    operator.deployment.lose_events()
    dry = operator.sakuin("reconcile", "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (1, "1 finding; nothing was changed")
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"] == []
    found = operator.sakuin("reconcile", "--json")
    assert found.code == 1
    assert found.document["findings"] == [
        {
            "rule": "missing",
            "where": "x.html",
            "message": "It is in the bucket, but the index does not know it.",
            "repair": "the key is checked again",
        }
    ]
    operator.deployment.settle()
    assert operator.sakuin("search", "解の公式", "--json").document["results"]
    assert operator.sakuin("reconcile").code == 0


def test_a_line_shows_what_where_and_how_it_is_repaired(operator: Operator) -> None:
    operator.deployment.put("x.html", a_page(FORMULA))
    boto3.client("s3").delete_object(Bucket=MATERIALS, Key="x.html")
    operator.deployment.lose_events()
    line = "gone      x.html  It is indexed, but not in the bucket. → the key is checked again"
    found = operator.sakuin("reconcile").out.splitlines()
    assert found == [line, "1 finding; run it again in a moment to check the repairs"]


def test_one_side_alone_can_be_asked_for(operator: Operator) -> None:
    operator.deployment.write("x.html", a_page(FORMULA))
    operator.deployment.lose_events()
    assert operator.sakuin("reconcile", "--tables", "--json").document["findings"] == []
    assert len(operator.sakuin("reconcile", "--materials", "--dry-run", "--json").document["findings"]) == 1
    both = operator.sakuin("reconcile", "--materials", "--tables", "--dry-run", "--json")
    assert len(both.document["findings"]) == 1


A, B = {"rule-a": "公式: 係数を代入する。"}, {"def-b": "判別式: 符号を調べる。"}


@pytest.fixture
def filled(operator: Operator) -> Operator:
    """A library with one page."""
    operator.deployment.put("x.html", a_page(A))
    return operator


def test_changes_are_printed_with_the_cursor_to_go_on(filled: Operator) -> None:
    first = filled.sakuin("changes")
    change, cursor = first.out.splitlines()
    assert "  explanation.added    x#rule-a  " in change
    name, cursor = cursor.split()
    assert name == "cursor"
    assert filled.sakuin("changes", "--since", cursor).out.splitlines() == [f"cursor  {cursor}"]
    filled.deployment.put("x.html", a_page(B))
    later = filled.sakuin("changes", "--since", cursor, "--json").document
    assert {(each["kind"], each["id"]) for each in later["changes"]} == {
        ("explanation.removed", "x#rule-a"),
        ("explanation.added", "x#def-b"),
    }


def test_changes_are_read_until_there_are_no_more(operator: Operator) -> None:
    answers = iter([{"changes": [{"id": n}], "cursor": str(n), "more": n < 2} for n in (1, 2)])
    with recorded(lambda _method, _path, _body: (200, next(answers))) as url:
        found = operator.sakuin("changes", "--json", SAKUIN_URL=url).document
    assert found == {"changes": [{"id": 1}, {"id": 2}], "cursor": "2"}


def test_some_kinds_are_asked_for(filled: Operator) -> None:
    filled.deployment.put("bad.html", b"\xff\xfe\x00\x00 no page")
    found = filled.sakuin("changes", "--kind", "page.failed", "--json").document
    assert [each["id"] for each in found["changes"]] == ["bad"]
    wrong = filled.sakuin("changes", "--kind", "everything")
    assert (wrong.code, "'kind' must be" in wrong.err) == (1, True)


@pytest.mark.parametrize(
    ("setting", "arguments"), [("SAKUIN_API_KEY", []), ("SAKUIN_TOOLS_API_KEY", ["--tools"])], ids=["pages", "tools"]
)
def test_a_wrong_key_is_named(filled: Operator, setting: str, arguments: list[str]) -> None:
    url = filled.deployment.url + "/mcp/00000000-0000-0000-0000-000000000001"
    refused = filled.sakuin("changes", *arguments, SAKUIN_TOOLS_MCP_URL=url, **{setting: "sk_sakuin_" + "x" * 43})
    assert (refused.code, f"The key is not valid. Correct {setting}" in refused.err) == (1, True)
