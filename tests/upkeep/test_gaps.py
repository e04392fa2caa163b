"""Gaps: which questions are one, how a gap is named, and what a page for it would need."""

import random

import pytest
from sakuin.upkeep.gaps import MOST_QUESTIONS, gaps_of, remedy
from sakuin.upkeep.refused_questions import RefusedQuestion


def question(
    text: str, asked: int = 1, tool: str | None = None, *, weak: int = 0, day: str = "2026-11-20"
) -> RefusedQuestion:
    return RefusedQuestion(tool, text, asked, weak, day, "2026-11-27")


def grouped(*questions: RefusedQuestion) -> list[set[str]]:
    return [{each.question for each in gap.questions} for gap in gaps_of(questions)]


@pytest.mark.parametrize(
    "questions",
    [
        ("How do I renew my passport?", "renewing a passport", "passport renewal fee"),
        ("円周率の求め方は?", "円周率を計算したい", "円周率とは"),
        ("サーバーの再起動", "サーバーを再起動する方法"),
        ("wie ersetze ich den Filter", "Filter ersetzen"),
    ],
)
def test_questions_about_the_same_are_one_gap(questions: tuple[str, ...]) -> None:
    others = ("weather in Osaka", "地震と津波", "opening hours")
    found = grouped(*map(question, (*questions, *others)))
    assert set(questions) in found
    assert all({other} in found for other in others)


def test_a_question_to_a_tool_is_another_gap_than_one_to_the_library() -> None:
    assert len(grouped(question("passport"), question("passport", tool="t"), question("passport", tool="u"))) == 3


def test_a_gap_has_the_sums_and_the_first_day_and_the_words_that_were_asked_most() -> None:
    (gap,) = gaps_of(
        [question("renew a passport", 5, weak=2), question("passport photo size to renew", 2, day="2026-11-03")]
    )
    assert (gap.asked, gap.weak, gap.since, gap.last) == (7, 2, "2026-11-03", "2026-11-27")
    assert gap.name.split()[:2] == ["renew", "passport"]
    assert gap.questions[0].question == "renew a passport"


def test_gaps_and_their_ids_do_not_depend_on_the_order_of_the_questions() -> None:
    questions = [question(f"{word} {other}") for word in ("red", "blue") for other in ("apple", "pear", "plum")]
    once = gaps_of(questions)
    random.Random(7).shuffle(questions)
    assert gaps_of(questions) == once
    assert len({gap.id for gap in once}) == len(once)


@pytest.mark.parametrize("text", ["", "?", "の", "a" * 300, "<script>", "\u202e", "🙂🙂"])
def test_any_text_is_a_gap_with_a_name(text: str) -> None:
    (gap,) = gaps_of([question(text)])
    assert gap.name == text[:80] or gap.name in text.lower()


def test_the_number_of_compared_questions_is_bounded() -> None:
    many = [question(f"word{number}", asked=number + 1) for number in range(MOST_QUESTIONS + 50)]
    gaps = gaps_of(many)
    assert (len(gaps), gaps[0].asked) == (MOST_QUESTIONS, MOST_QUESTIONS + 50)


def test_a_remedy_has_the_words_that_no_text_has_and_the_nearest_results() -> None:
    (gap,) = gaps_of([question("円周率と面積の歴史")])
    result = {"id": "a#b", "title": "面積", "similarity": 0.2, "url": "/a.html#b"}
    found = remedy(gap, {"results": [result]}, {"understood": {"known": ["面積", "率"]}})
    assert (found.heading, found.words) == (gap.name, ("円周率", "歴史"))
    assert [(each.id, each.title, each.url) for each in found.nearest] == [("a#b", "面積", "/a.html#b")]
    # It cannot be asked again.
    assert remedy(gap, None, None).words == ()
