"""A Table is one piece of work, however many batches it has."""

from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkMessage

from tests.platform.unfinished_work.conftest import AN_INDEX, Work, of

SCAN, BATCH = WorkMessage("tool", f"scan for {AN_INDEX}", "a project"), WorkMessage("embed", "a batch")


def test_a_table_waits_once_and_not_once_for_each_batch(work: Work, table: str) -> None:
    for _ in range(20):
        work.store.defer(of(table), Defer(0, "openai is away", "openai"))
        work.store.record_retry(of(table), "it failed", vendor=None, seconds=5)
        work.store.record_last_delivery(of(table), "no answer")
        work.store.record_dead_letter(of(table), "it failed for the last time")
    assert work.states() == {table: "waiting"}
    assert work.row(table).reason == "openai is away"


def test_a_table_probes_with_one_batch_and_is_scanned_when_the_vendor_answers(work: Work, table: str) -> None:
    work.store.defer(of(table), Defer(0, "away", "openai"))
    work.passes(61)
    assert work.store.claim_due(limit=10) == [BATCH]
    work.store.finish(of(table), vendor_answered=True)
    assert work.states() == {table: "waiting"}
    assert work.store.claim_due(limit=10) == [SCAN]
    work.store.finish(of(table), vendor_answered=False)
    assert work.states() == {}


def test_a_scan_that_was_under_way_does_not_finish_a_table_that_waits(work: Work, table: str) -> None:
    work.store.defer(of(table), Defer(600, "away", "openai"))
    work.store.finish(of(table), vendor_answered=False)
    assert work.states() == {table: "waiting"}


def test_a_table_that_waits_for_a_time_is_scanned(work: Work, table: str) -> None:
    work.store.defer(of(table), Defer(60, "a namespace is busy"))
    work.passes(61)
    assert work.store.claim_due(limit=10) == [SCAN]


def test_a_table_waits_for_each_index_by_itself(work: Work, table: str) -> None:
    work.store.defer(of(table, "one"), Defer(0, "a namespace is busy"))
    work.store.defer(of(table, "other"), Defer(600, "a namespace is busy"))
    assert work.due() == ["scan for one"]


def test_the_tools_of_a_waiting_table_have_the_reason(work: Work, table: str) -> None:
    work.store.defer(of(table, ""), Defer(0, "openai is away", "openai"))
    status = "select metadata->'search_index'->>'last_error' from tool where table_id = %s"
    assert work.sql.execute(status, [table]).fetchall() == [("openai is away",)]


def test_a_batch_that_failed_for_good_stays_so_although_another_was_retried(work: Work, table: str) -> None:
    work.store.record_dead_letter(of(table), "a batch is poison")
    work.store.record_retry(of(table), "it failed", vendor=None, seconds=5)
    work.store.finish(of(table), vendor_answered=True)
    work.store.record_last_delivery(of(table), "no answer")
    work.store.finish(of(table), vendor_answered=True)
    assert (work.row(table).state, work.row(table).reason) == ("failed", "a batch is poison")
    work.store.defer(of(table), Defer(0, "openai is away", "openai"))
    assert work.row(table).state == "waiting"


def test_a_last_delivery_of_a_table_that_succeeds_leaves_nothing(work: Work, table: str) -> None:
    work.store.record_last_delivery(of(table), "no answer")
    work.store.finish(of(table), vendor_answered=True)
    assert work.states() == {}


def test_rows_of_a_table_that_is_deleted_go(work: Work, table: str) -> None:
    work.store.defer(of(table), Defer(600, "away", "openai"))
    work.sql.execute("delete from context_table")
    assert work.due() == []
    assert [row.kind for row in work.store.rows()] == ["deletion"]


def stuck(work: Work, table: str, index: str = AN_INDEX) -> tuple[bool, int]:
    """Returns whether unfinished work explains that a Table makes no progress, and how many Tables are stalled."""
    found = work.sql.execute(
        "select has_unfinished_work(%s, %s), jsonb_array_length(stalled_tables(%s, 120, 9))", [table, index, index]
    ).fetchone()
    assert found is not None
    return found[0], found[1]


def test_a_table_that_waits_is_not_stuck_and_one_without_work_is(work: Work, table: str) -> None:
    work.passes(200)
    assert stuck(work, table) == (False, 1)
    work.store.defer(of(table), Defer(3600, "tomorrow"))
    work.passes(200)
    assert stuck(work, table) == (True, 0)
    assert stuck(work, table, "another index") == (False, 1)
    work.store.finish(of(table), vendor_answered=False)
    work.store.defer(of(table, ""), Defer(3600, "tomorrow"))
    assert stuck(work, table, "another index") == (True, 0)


def test_a_retry_that_is_long_overdue_explains_nothing(work: Work, table: str) -> None:
    work.store.record_retry(of(table), "it failed", vendor=None, seconds=5)
    work.passes(600)
    assert stuck(work, table) == (True, 0)
    work.passes(400)
    assert stuck(work, table) == (False, 1)


def test_a_dead_letter_explains_nothing(work: Work, table: str) -> None:
    work.passes(200)
    work.store.record_dead_letter(of(table), "it failed")
    assert stuck(work, table) == (False, 1)
