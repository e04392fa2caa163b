"""The table of refused questions: what is counted, kept and deleted."""

from typing import Any

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import Client
from sakuin.upkeep.daily_counts import DailyCountRecords
from sakuin.upkeep.refused_questions import Feedback, RefusedQuestions, recorder
from sakuin_local.supabase.database import Database


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
