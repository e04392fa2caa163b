"""The handler of the schedule, its metrics, and maintenance: slow or failing parts do not stop others."""

import io
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from aws_lambda_powertools import Logger, Metrics
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import connected
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin.tables.nodes import DeletedPortion, UnindexedTable
from sakuin.upkeep.index_versions import BuildResult
from sakuin.upkeep.maintain import LONGEST_PART, Maintain
from sakuin.upkeep.schedule import Schedule
from sakuin_local.supabase.database import Database

from tests.convergence.passing import work_ages
from tests.events import Context

NO_STORE = Unavailable("turbopuffer did not answer", vendor="turbopuffer")


@dataclass
class Parts:
    """The parts of a schedule. `maintained` is what maintenance did, or why it fails; `asked`: which runs."""

    records: WorkRecords
    maintained: dict[str, int] | Exception = field(default_factory=dict)
    built: int = 0
    canary: Any = None
    database_percent: float = 12.5
    current: CurrentWork = field(default_factory=CurrentWork)
    minute: int = 0
    marks: list[int] = field(default_factory=list)

    def maintain(self) -> dict[str, int]:
        if isinstance(self.maintained, Exception):
            raise self.maintained
        return self.maintained

    def build(self) -> BuildResult:
        self.built += 1
        return BuildResult(pages=0, swept=0)

    def handle(self, **event: bool) -> dict[str, Any]:
        parts: Any = self
        metrics = Metrics(namespace="Sakuin", service="test")
        schedule = Schedule(
            maintain=parts.maintain,
            build=parts.build,
            canary=self.canary,
            records=self.records,
            database_percent=lambda: self.database_percent,
            logger=Logger(service="test", stream=io.StringIO()),
            metrics=metrics,
            current=self.current,
            mark_maintained=lambda: self.marks.append(self.minute),
            clock=lambda: self.minute * 60,
        )
        try:
            return schedule.handle(event, Context())
        finally:
            metrics.flush_metrics()


@pytest.fixture
def parts(empty_database: Database, records: WorkRecords) -> Parts:
    """Seven files have waited for more than an hour, and another does not wait."""
    for number in range(8):
        row, since = WorkRow("file", f"{number}/learns.yml"), datetime.now(UTC).isoformat()
        records.begin(row, "m1")
        if number:
            records.wait(row, "m1", since=since, reason="away", vendor="openai", seconds=60)
    with psycopg.connect(empty_database.dsn_postgres, autocommit=True) as sql:
        work_ages(sql, 4000)
    return Parts(records)


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The metrics that were written, together."""
    written: dict[str, Any] = {}
    for line in capsys.readouterr().out.splitlines():
        if '"_aws"' in line:
            written |= json.loads(line)
    return written


def test_what_was_restarted_and_what_waits_is_counted(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    parts.maintained = {"events": 1, "restarted": 2}
    done, said = parts.handle(), metrics(capsys)
    assert (done["restarted"], said["TablesRestarted"]) == (2, [2])
    assert said["DatabasePercent"] == [12.5]
    assert (said["WaitingWork"], 4000 <= said["OldestWaitingSeconds"][0] < 4060) == ([7], True)


def test_a_part_that_fails_is_raised_after_the_others(parts: Parts) -> None:
    parts.maintained = NO_STORE
    parts.records = WorkRecords(connected("http://127.0.0.1:9", "key", seconds=2))
    with pytest.raises(Unavailable, match="Supabase did not answer"):
        parts.handle()
    assert parts.built == 1


def test_a_run_is_marked_if_it_ends_without_an_error(parts: Parts) -> None:
    parts.handle()
    assert parts.marks == [0]
    parts.maintained = NO_STORE
    with pytest.raises(Unavailable):
        parts.handle()
    assert parts.marks == [0]


def test_each_part_has_its_turn_though_the_time_of_a_run_suffices_for_one(parts: Parts) -> None:
    def maintain() -> dict[str, int]:
        left[0] -= 30
        return {}

    left, reached = [0.0], set()
    parts.current.milliseconds_left = lambda: left[0] * 1000
    parts.maintain = maintain  # type: ignore[method-assign]
    for minute in range(2):
        left[0], parts.minute, parts.built = LONGEST_PART + 20, minute, 0
        parts.handle()
        reached |= {parts.built}
    # None of them counts as a failure.
    assert (reached, parts.marks) == ({0, 1}, [0, 1])


A, B, C = (f"project_p_table_{name}" for name in "abc")


@dataclass
class Leaving:
    """Records and store of what is to be removed, and a clock. `slow` takes this namespace so many seconds.

    `portions` of deleted Tables are left, each of which takes 6 seconds.
    """

    there: set[str]
    gone: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    slow: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    portions: int = 0

    def orphaned_namespaces(self) -> Collection[str]:
        return self.gone

    def unindexed_tables(self) -> list[UnindexedTable]:
        return []

    def namespaces(self, prefix: str) -> list[str]:
        return sorted(name for name in self.there if name.startswith(prefix))

    def delete_namespace(self, name: str) -> None:
        self.seconds += self.slow.get(name, 0)
        if name in self.failing:
            raise Unavailable(f"{name} did not answer", vendor="turbopuffer")
        self.there.discard(name)

    def delete_portion(self, *, limit: int) -> DeletedPortion | None:
        if not self.portions:
            return None
        self.seconds += 6
        self.portions -= 1
        return DeletedPortion(limit, self.portions)

    def delete_namespace_records(self, names: Collection[str], *, seconds: int) -> None:
        self.gone -= set(names)

    def maintain(self) -> dict[str, int]:
        """A minute's maintenance, by this clock."""
        both: Any = self
        nothing: Any = lambda: 0  # noqa: E731 - stands for several
        return Maintain(nothing, both, both, nothing, nothing, nothing, clock=lambda: self.seconds)()


def test_each_part_has_its_turn_though_another_takes_all_the_time_of_a_run() -> None:
    leaving = Leaving(set())
    work, left, done = CurrentWork(), [0.0], set[str]()
    work.milliseconds_left = lambda: left[0] * 1000

    def slow() -> int:
        left[0] = LONGEST_PART - 1
        return 0

    both: Any = leaving
    nothing: Any = lambda: 0  # noqa: E731 - stands for several
    maintain = Maintain(*(slow, both, both, nothing, nothing, nothing), clock=lambda: leaving.seconds, work=work)
    for _ in maintain.parts:
        left[0], leaving.seconds = 120.0, leaving.seconds + 60
        done |= maintain().keys()
    assert done == maintain.parts.keys()


def test_a_namespace_that_cannot_be_deleted_does_not_stop_others() -> None:
    leaving = Leaving({A, B, C}, {A, B, C, "project_p_table_long_gone"}, failing={A})
    with pytest.raises(Unavailable, match=A):
        leaving.maintain()
    assert leaving.there == {A}
    assert "project_p_table_long_gone" not in leaving.gone


def test_slow_namespaces_are_not_first_each_minute() -> None:
    leaving = Leaving({A, B, C}, {A, B, C}, failing={A}, slow={A: 60.0})
    for _ in range(4):
        leaving.seconds += 60
        try:
            leaving.maintain()
        except Unavailable:
            continue
    assert leaving.there == {A}


def test_deletion_continues_in_the_next_minute() -> None:
    leaving = Leaving({A, B, C}, {A, B, C}, slow={A: 6.0, B: 6.0, C: 6.0})
    leaving.maintain()
    assert len(leaving.there) == 1
    leaving.maintain()
    assert leaving.there == set()


def test_rows_that_the_time_does_not_suffice_for_are_left_and_counted() -> None:
    leaving = Leaving(set(), portions=3)
    assert [leaving.maintain()["deletions"] for _ in range(2)] == [1, 0]
