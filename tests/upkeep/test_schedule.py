"""The handler of the schedule and its metrics."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools import Logger, Metrics
from sakuin.errors import Unavailable
from sakuin.platform.reconciliation import Difference
from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import connected
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from sakuin.upkeep.index_versions import BuildResult
from sakuin.upkeep.maintain import MaintenanceResult
from sakuin.upkeep.reconcile import ReconciliationResult
from sakuin.upkeep.schedule import Schedule
from sakuin_local.supabase.database import Database

from tests.convergence.passing import work_ages
from tests.events import Context

NO_STORE = Unavailable("turbopuffer did not answer", vendor="turbopuffer")
NOTHING = MaintenanceResult(sent=0, restarted=0, removed=0)


@dataclass
class Parts:
    """The parts of a schedule. `maintained` is what maintenance did, or why it fails; `asked`: which runs."""

    unfinished: UnfinishedWorkStore
    maintained: MaintenanceResult | Exception = NOTHING
    failed: Sequence[str] = ()
    asked: list[bool] = field(default_factory=list)
    built: int = 0
    canary: Any = None
    database_percent: float = 12.5
    differences: int = 1

    def maintain(self) -> MaintenanceResult:
        if isinstance(self.maintained, Exception):
            raise self.maintained
        return self.maintained

    def build(self) -> BuildResult:
        self.built += 1
        return BuildResult(pages=0, swept=0, activated=None)

    def reconcile(self, *, whole: bool, seconds: float) -> ReconciliationResult:
        self.asked.append(whole)
        found = [Difference("lost", "a table", "2 of 4 chunks.", "they are stored again")] * self.differences
        return ReconciliationResult(found, whole, self.failed)

    def handle(self, **event: bool) -> dict[str, Any]:
        parts: Any = self
        metrics = Metrics(namespace="Sakuin", service="test")
        schedule = Schedule(
            maintain=parts.maintain,
            build=parts.build,
            reconcile=lambda: parts.reconcile,
            canary=self.canary,
            unfinished=self.unfinished,
            database_percent=lambda: self.database_percent,
            logger=Logger(service="test", stream=io.StringIO()),
            metrics=metrics,
            current=CurrentWork(),
        )
        try:
            return schedule.handle(event, Context())
        finally:
            metrics.flush_metrics()


@pytest.fixture
def parts(empty_database: Database, unfinished: UnfinishedWorkStore) -> Parts:
    """Seven pages have waited for more than an hour, and another is retried."""
    for number in range(7):
        unfinished.defer(WorkSubject("file", f"{number}.html"), Defer(60, "away", "openai"))
    unfinished.record_retry(WorkSubject("file", "8.html"), "it failed", vendor=None, seconds=5)
    with psycopg.connect(empty_database.dsn_postgres, autocommit=True) as sql:
        work_ages(sql, 4000)
    return Parts(unfinished)


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The metrics that were written, together."""
    written: dict[str, Any] = {}
    for line in capsys.readouterr().out.splitlines():
        if '"_aws"' in line:
            written |= json.loads(line)
    return written


def test_what_was_resumed_and_what_waits_is_counted(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    parts.maintained = MaintenanceResult(sent=1, restarted=2, removed=0, resumed=3)
    done, said = parts.handle(), metrics(capsys)
    assert (done["resumed"], said["WorkResumed"], said["TablesRestarted"]) == (3, [3], [2])
    assert said["DatabasePercent"] == [12.5]
    assert (said["WaitingWork"], 4000 <= said["OldestWaitingSeconds"][0] < 4060) == ([7], True)


def test_a_part_that_fails_is_raised_after_the_others(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    parts.maintained = NO_STORE
    parts.unfinished = UnfinishedWorkStore(connected("http://127.0.0.1:9", "key", seconds=2))
    with pytest.raises(Unavailable, match="Supabase did not answer"):
        parts.handle()
    assert (parts.asked, metrics(capsys)["ReconcileFindings"]) == ([False], [1])


def test_found_differences_are_counted_though_a_part_failed(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    parts.failed = ["keys: S3 did not answer"]
    with pytest.raises(Unavailable, match="Reconciliation failed in part: keys: S3 did not answer"):
        parts.handle(reconcile=True)
    assert metrics(capsys)["ReconcileFindings"] == [1]


def test_a_night_reconciles_all_and_each_minute_continues(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    minute = parts.handle()
    assert (minute["differences"], minute["goes_on"], metrics(capsys)["ReconcileFindings"]) == (1, False, [1])
    assert parts.handle(reconcile=True) == {"differences": 1, "goes_on": True}
    assert parts.asked == [False, True]


def test_all_differences_are_counted_and_the_first_are_logged(parts: Parts, caplog: pytest.LogCaptureFixture) -> None:
    parts.differences = 60
    assert parts.handle()["differences"] == 60
    assert caplog.messages.count("difference found") == 50
