"""Questions that ask for an example."""

import pytest
from sakuin.language.model import LexiconEntries, RewriteStep
from sakuin.language.questions.query_analysis import analyze_query


@pytest.mark.parametrize(
    "query",
    [
        "加減法の例題",
        "つるかめ算を解く例を見せて",
        "外れ値を例で知りたい",
        "a worked example of factoring",
        "具体例は？",
    ],
)
def test_a_question_may_ask_for_an_example(query: str) -> None:
    found = analyze_query(query, LexiconEntries())
    assert found.wants_example
    assert found.steps[-1].rule == "examples"
    assert not analyze_query(query, LexiconEntries(), without={"examples"}).wants_example


@pytest.mark.parametrize("query", ["反比例の式", "例外はあるか", "比例を教えて", "解の公式", "examination dates"])
def test_other_questions_do_not(query: str) -> None:
    found = analyze_query(query, LexiconEntries())
    assert not found.wants_example
    assert RewriteStep("examples", "例", "") not in found.steps
