"""Refused questions: what is counted, kept and deleted; which are one gap, and what a page for it would need."""

import random
from typing import Any

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import Client
from sakuin.upkeep.daily_counts import DailyCountRecords
from sakuin.upkeep.gaps import MOST_QUESTIONS, gaps_of, remedy
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestion, RefusedQuestions, recorder
from sakuin_local.supabase.database import Database


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
    found = remedy(gap, {"results": [result], "understood": {"known": ["面積", "率"]}})
    assert (found.heading, found.words) == (gap.name, ("円周率", "歴史"))
    assert [(each.id, each.title, each.url) for each in found.nearest] == [("a#b", "面積", "/a.html#b")]
    # It cannot be asked again.
    assert remedy(gap, None).words == ()


@pytest.fixture
def questions(empty_database: Database, service: Client) -> RefusedQuestions:
    return RefusedQuestions(service, most_a_day=2)


def deleted(questions: RefusedQuestions, *, keep_days: int) -> int:
    return DailyCountRecords(questions.client).delete_old(question_days=keep_days)


def counted(questions: RefusedQuestions) -> dict[str, int]:
    return {each.question: each.asked for each in questions.most_frequent(None, limit=10)}


def test_a_day_has_so_many_different_questions_and_counts_these_on(questions: RefusedQuestions) -> None:
    for question in ("a", "b", "c", "b"):
        questions.record(question, None)
    assert counted(questions) == {"b": 2, "a": 1}


def test_days_add_up_and_the_oldest_go(questions: RefusedQuestions, sql: psycopg.Connection) -> None:
    questions.record("a", None)
    sql.execute(
        "insert into refused_question (day, question, asked) "
        "select (now() at time zone 'utc')::date - ago, 'a', 10 from unnest(array[29, 30, 31]) ago"
    )
    assert counted(questions) == {"a": 31}
    assert deleted(questions, keep_days=30) == 2
    (kept,) = questions.most_frequent(None, limit=10)
    assert (kept.asked, kept.first_day < kept.last_day) == (11, True)
    assert deleted(questions, keep_days=0) == 2
    assert counted(questions) == {}


def test_a_question_that_cannot_be_recorded_is_no_failure() -> None:
    asked: list[str] = []

    class Away:
        def record(self, question: str, _tool_id: str | None, _is_weak: bool) -> None:
            asked.append(question)
            raise Unavailable("Supabase did not answer", vendor="supabase")

    away: Any = Away()
    recorder(away, lambda text: text.replace("key", "[hidden]"))("k\u200bey of\n mine", None, False)
    assert asked == ["[hidden] of mine"]


def test_a_day_of_feedback_has_a_limit_of_questions(questions: RefusedQuestions, sql: psycopg.Connection) -> None:
    feedback = Feedback(questions.client)
    sql.execute(
        "insert into feedback select (now() at time zone 'utc')::date, 'a#rule-a', 'q' || n, 1, 0"
        " from generate_series(1, 200) n"
    )
    for question in ("q1", "one more", "another", "q1"):
        feedback.record("a#rule-a", question, False)
    counts = {one.query: (one.answered, one.unanswered) for one in feedback.counts(1000)}
    assert (len(counts), counts["q1"], counts[None]) == (201, (1, 2), (0, 2))


@pytest.mark.parametrize(("keep_days", "left"), [(30, {("q", 29), ("", 29)}), (0, {("", 29)})])
def test_feedback_goes_with_the_questions_and_without_one_after_thirty_days(
    questions: RefusedQuestions, sql: psycopg.Connection, keep_days: int, left: set[tuple[str, int]]
) -> None:
    sql.execute(
        "insert into feedback select (now() at time zone 'utc')::date - ago, 'a#rule-a', question, 1, 0"
        " from unnest(array[29, 30]) ago, unnest(array['', 'q']) question"
    )
    deleted(questions, keep_days=keep_days)
    rows = sql.execute("select question, (now() at time zone 'utc')::date - day from feedback").fetchall()
    assert set(rows) == left
