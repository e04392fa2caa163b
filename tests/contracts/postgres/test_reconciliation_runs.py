"""`ReconciliationRuns`: one worker at a time, from where the last one stopped."""

from dataclasses import dataclass

import psycopg
import pytest
from sakuin.platform.reconciliation import Difference
from sakuin.platform.supabase.client import Client
from sakuin.upkeep.reconcile import ReconciliationRuns, Run

from tests.emptied import emptied


@dataclass(frozen=True, slots=True)
class Timed:
    """The runs, and a clock for them."""

    runs: ReconciliationRuns
    sql: psycopg.Connection

    def pass_time(self, seconds: float) -> None:
        later = "update public.reconciliation_run set claimed_until = claimed_until - make_interval(secs => %s)"
        self.sql.execute(later, (seconds,))


@pytest.fixture
def timed(service: Client, sql: psycopg.Connection) -> Timed:
    emptied(sql)
    return Timed(ReconciliationRuns(service), sql)


def test_a_run_begins_on_request_and_continues_until_its_end(timed: Timed) -> None:
    runs = timed.runs
    assert runs.take(seconds=60) is None
    assert runs.take(seconds=60, begin=True) == Run(None)
    runs.release("b")
    assert runs.take(seconds=60) == Run("b")
    runs.release("c")
    assert runs.take(seconds=60, begin=True) == Run("c")
    runs.release(None)
    assert runs.take(seconds=60) is None
    assert runs.take(seconds=60, begin=True) == Run(None)


def test_one_worker_at_a_time_runs_and_after_its_death_another_at_its_last_cursor(timed: Timed) -> None:
    runs = timed.runs
    for cursor in (None, "b"):
        assert runs.take(seconds=60, begin=True) == Run(None)
        if cursor:
            runs.save(cursor)
        assert (runs.take(seconds=60), runs.take(seconds=60, begin=True)) == (None, None)
        timed.pass_time(61)
        assert runs.take(seconds=60) == Run(cursor)
        runs.release(None)


def test_what_a_run_found_is_kept_until_the_next_one_begins(timed: Timed) -> None:
    runs = timed.runs
    assert runs.report() is None
    first, second = (Difference("stale", key, "It differs.", "it is checked") for key in ("a.html", "b.html"))
    runs.take(seconds=60, begin=True)
    runs.release("b", [first], ["tables: turbopuffer is away"])
    report = runs.report()
    assert report is not None
    assert (report.found, report.differences, report.ended_at) == (1, (first,), None)
    assert report.failed == ("tables: turbopuffer is away",)
    runs.take(seconds=60)
    runs.release(None, [second] * 500)
    report = runs.report()
    assert report is not None
    assert (report.found, report.differences[:2], len(report.differences)) == (501, (first, second), 500)
    assert (report.failed, report.ended_at is not None) == ((), True)
    runs.take(seconds=60, begin=True)
    report = runs.report()
    assert report is not None
    assert (report.found, report.differences, report.ended_at) == (0, (), None)
