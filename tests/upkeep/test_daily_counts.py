"""The counters of a day: what a worker adds up, what it writes and when, and what is read."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sakuin.errors import Unavailable
from sakuin.platform.supabase.client import Client, call
from sakuin.platform.telemetry import NO_METER, count_search
from sakuin.upkeep.daily_counts import (
    CALLERS,
    DAYS,
    CountingMeter,
    DailyCountRecords,
    DailyCounts,
    Row,
    Usage,
    usage_of,
)
from sakuin_local.supabase.database import Database

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
PROJECT = "00000000-0000-4000-8000-0000000000aa"


class Worker:
    """A worker with a clock of its own, and what it wrote."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.now = NOW
        self.written: list[Sequence[Row]] = []
        self.counts = DailyCounts(self.written.append, lambda: self.seconds, lambda: self.now)


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def records(empty_database: Database, service: Client) -> DailyCountRecords:
    return DailyCountRecords(service)


def totals(rows: Sequence[Row]) -> dict[tuple[Any, ...], int]:
    return {(row["project_id"], row["key"], row["name"]): row["total"] for row in rows}


def test_a_worker_writes_sums_at_most_once_in_ten_seconds(worker: Worker) -> None:
    worker.counts.add("asked")
    worker.counts.write_now()
    for _ in range(3):
        worker.counts.add("asked")
        worker.seconds += 3
        worker.counts.write_now()
    worker.seconds += 1
    worker.counts.write_now()
    worker.counts.write_now()
    assert [totals(rows) for rows in worker.written] == [{(None, "", "asked"): 1}, {(None, "", "asked"): 3}]


def test_questions_count_for_the_project_and_the_key_that_asked(worker: Worker) -> None:
    meter = CountingMeter(NO_METER, worker.counts)
    worker.counts.set_caller(PROJECT, "endpoint")
    count_search(meter, "TableSearches", is_empty=True, degraded=None)
    worker.counts.set_caller(None, "public")
    count_search(meter, "Searches", is_empty=False, degraded=None)
    worker.counts.write_now()
    assert totals(worker.written[0]) == {
        (PROJECT, "endpoint", "asked"): 1,
        (PROJECT, "endpoint", "refused"): 1,
        (None, "public", "asked"): 1,
    }
    assert worker.counts.asked == 2


def test_a_worker_that_was_frozen_over_night_counts_for_the_day_before(worker: Worker) -> None:
    worker.counts.add("asked")
    worker.now += timedelta(days=1)
    worker.counts.add("asked")
    worker.counts.write_now()
    assert [row["day"] for row in worker.written[0]] == ["2026-11-27", "2026-11-28"]


def test_a_failed_write_is_lost_and_no_failure_of_a_question(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_rows: Sequence[Row]) -> None:
        raise Unavailable("Supabase did not answer", vendor="supabase")

    counts = DailyCounts(fail)
    counts.add("asked")
    counts.write_now()
    assert "are lost" in caplog.text
    assert counts._totals == {}


def test_the_memory_of_a_worker_is_bounded(worker: Worker) -> None:
    for number in range(1100):
        worker.counts.set_caller(None, f"key {number}")
        worker.counts.add("asked")
    worker.counts.write_now()
    (rows,) = worker.written
    assert len(rows) <= 1001
    assert sum(row["total"] for row in rows) == 1100
    assert totals(rows)[(None, "", "asked")] == 100


def usage_in(records: DailyCountRecords) -> Usage:
    """The counters of the last days, as the first page of the console has them."""
    return usage_of(call(records.client, "daily_counts", {"p_days": DAYS, "p_callers": CALLERS}))


def test_writes_of_workers_add_up_by_day_and_key(records: DailyCountRecords, sql: psycopg.Connection) -> None:
    sql.execute("insert into project (id, name) values (%s, '学校')", [PROJECT])
    for _ in range(20):
        counts = DailyCounts(records.write)
        for project, key in ((None, "public"), (PROJECT, "endpoint")):
            counts.set_caller(project, key)
            counts.add("asked", 2)
        counts.add("weak")
        counts.write_now()
    usage = usage_in(records)
    assert usage.series("asked") == [0] * (DAYS - 1) + [80]
    assert usage.series("weak")[-1] == 20
    callers = {(each.project, each.key): (each.asked, each.refused, each.weak) for each in usage.callers}
    assert callers == {(None, "public"): (40, 0, 0), ("学校", "endpoint"): (40, 0, 20)}


def test_durations_are_read_as_percentiles_of_each_day(records: DailyCountRecords) -> None:
    counts = DailyCounts(records.write)
    for milliseconds in [*[120.0] * 90, *[1800.0] * 9, 10**9]:
        counts.add_duration("ms", milliseconds)
    counts.write_now()
    usage = usage_in(records)
    assert [usage.percentiles("ms", share)[-1] for share in (0.5, 0.95, 1.0)] == [150, 2000, 86_400_000]
    assert usage.percentiles("fresh", 0.5) == [0] * DAYS


def test_old_days_are_neither_read_nor_kept_nor_written(records: DailyCountRecords, sql: psycopg.Connection) -> None:
    sql.execute(
        "insert into daily_count (day, key, name, shard, total) "
        "select (now() at time zone 'utc')::date - ago, 'x', 'asked', 0, 10 from unnest(array[29, 30, 31]) ago"
    )
    old = (datetime.now(UTC) - timedelta(days=5)).date().isoformat()
    records.write([{"day": old, "project_id": None, "key": "x", "name": "asked", "total": 1}])
    assert sum(usage_in(records).series("asked")) == 10
    assert records.delete_old() == 2
    assert sql.execute("select count(*) from daily_count").fetchone() == (1,)


def test_what_was_used_of_quotas_is_forgotten_when_its_period_is_over(
    records: DailyCountRecords, sql: psycopg.Connection
) -> None:
    sql.execute("delete from quota_use")
    sql.execute(
        "insert into quota_use select 'callbacks of ' || days, 'searches', now() - make_interval(days => days), 1 "
        "from unnest(array[0, 1, 3]) days"
    )
    records.delete_old()
    kept = sql.execute("select principal from quota_use order by 1").fetchall()
    assert kept == [("callbacks of 0",), ("callbacks of 1",)]


def test_tokens_of_a_day_are_read_with_its_counters(records: DailyCountRecords, sql: psycopg.Connection) -> None:
    sql.execute("select add_tokens('embedding', 1200), add_tokens('learns', 30)")
    usage = usage_in(records)
    assert (usage.series("tokens:embedding")[-1], usage.series("tokens:learns")[-1]) == (1200, 30)
