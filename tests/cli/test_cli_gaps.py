"""`sakuin gaps`: what was asked without a good answer, and what a page for it would need."""

import json

from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator


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
    assert (gone.code, "There is no gap" in gone.err) == (1, True)


def test_no_gap_says_whether_questions_are_recorded(operator: Operator) -> None:
    shown = operator.sakuin("gaps")
    assert (shown.code, "RecordRefusedQuestions=true" in shown.out) == (0, True)


def test_what_agents_say_of_answers_is_listed_and_becomes_labels(operator: Operator) -> None:
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
    first = {"explanation": "a#rule-formula", "query": "二次方程式を解く公式は", "answered": 2, "unanswered": 0}
    assert operator.sakuin("gaps", "--feedback", "--json").document["feedback"][0] == first
    assert "a#rule-formula" in operator.sakuin("gaps", "--feedback").out
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
