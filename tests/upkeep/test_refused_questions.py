"""The table of refused questions: what is counted, kept and deleted."""

from typing import Any

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import Client
from sakuin.upkeep.refused_questions import RefusedQuestions, recorder
from sakuin_local.supabase.database import Database


@pytest.fixture
def questions(empty_database: Database, service: Client) -> RefusedQuestions:
    return RefusedQuestions(service, most_a_day=2)


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
    assert questions.delete(keep_days=30) == 2
    (kept,) = questions.most_frequent(None, limit=10)
    assert (kept.asked, kept.first_day < kept.last_day) == (11, True)
    assert questions.delete(keep_days=0) == 2
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
