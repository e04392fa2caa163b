"""`sakuin gaps`: what was asked without a good answer, and what a page for it would need."""

from sakuin.upkeep.refused_questions import RefusedQuestions

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
