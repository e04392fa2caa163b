"""The table of unfinished work: states, waits, probes and counts."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

import psycopg
import pytest
from psycopg.types.json import Jsonb
from sakuin.errors import Unavailable
from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import call, connected
from sakuin.platform.unfinished_work import DueWork, UnfinishedWork, UnfinishedWorkStore, WorkSubject, short_client
from sakuin_local.supabase.database import Database

from tests.convergence.passing import time_passes

A_DAY = 86_400
AN_INDEX = "an index"
A_PAGE = WorkSubject("file", "junior/が.html", version_id="v1", sequencer="0A")

MANY = 400
WAITING = b"""insert into unfinished_work (kind, subject, state, reason, vendor, attempts, waits, since, retry_at)
  select 'file', 'm' || n, 'waiting', 'away', 'openai', 1, 1, now() - interval '1 hour', now()
  from generate_series(1, %(rows)s) n"""
TOUCHED = b"""select pg_stat_get_xact_tuples_returned(t) + pg_stat_get_xact_tuples_fetched(t),
  pg_stat_get_xact_tuples_updated(t) from (select 'unfinished_work'::regclass as t) x"""
CHUNKS = (
    b"""insert into node
    (table_id, fingerprint, pointer_hash, json_pointer, wanted_hash, wanted_generation, wanted_chunks)
  values (%(table)s, %(index)s, 'p', '/a', 'h', 1, %(count)s)""",
    b"""insert into chunks (table_id, fingerprint, pointer_hash, json_pointer, content_hash, chunk_index, total_chunks,
    chunk_text, char_start, char_end)
  select %(table)s, %(index)s, 'p', '/a', 'h', i, %(count)s, 't', i, i + 1 from generate_series(1, %(count)s) i""",
)


@dataclass(frozen=True, slots=True)
class Work:
    store: UnfinishedWorkStore
    sql: psycopg.Connection

    def passes(self, seconds: int) -> None:
        time_passes(self.sql, seconds)

    def defer(
        self, *names: str, vendor: str | None = "openai", seconds: float = 60, longest: float | None = None
    ) -> None:
        """Defers pages, one after the other."""
        for name in names:
            assert self.store.defer(page(name), Defer(seconds, "away", vendor, longest))

    def retry(self, name: str, *, vendor: str | None = None, seconds: float = 5) -> None:
        self.store.record_retry(page(name), "it failed", vendor=vendor, seconds=seconds)

    def finish(self, name: str, *, vendor_answered: bool = True) -> None:
        self.store.finish(page(name), vendor_answered=vendor_answered)

    def due(self, limit: int = 100) -> list[str]:
        return [work.subject.id for work in self.store.claim_due(limit=limit)]

    def states(self) -> dict[str, str]:
        return {row.subject: row.state for row in self.store.rows()}

    def row(self, subject: str) -> UnfinishedWork:
        (found,) = self.store.rows(subjects=[subject])
        return found

    def pause(self, name: str) -> float:
        """Returns the seconds until a page is tried again."""
        retry_at = datetime.fromisoformat(str(self.row(name).retry_at))
        return (retry_at - datetime.now(retry_at.tzinfo)).total_seconds()


@pytest.fixture
def work(unfinished: UnfinishedWorkStore, sql: psycopg.Connection) -> Work:
    return Work(unfinished, sql)


def page(name: str, sequencer: str = "") -> WorkSubject:
    return WorkSubject("file", name, sequencer=sequencer)


# ---------------------------------------------------------------- retries


def test_a_retry_says_why_and_since_when_and_belongs_to_its_queue(work: Work) -> None:
    work.store.record_retry(A_PAGE, "it failed", vendor="openai", seconds=30)
    work.passes(20)
    work.store.record_retry(A_PAGE, "it failed again", vendor=None, seconds=180)
    row = work.row(A_PAGE.id)
    assert (row.kind, row.state, row.reason, row.vendor, row.attempts) == (
        "file",
        "retrying",
        "it failed again",
        None,
        2,
    )
    assert (row.version_id, row.removed) == ("v1", False)
    assert 20 <= age(row) <= 60
    assert 100 < work.pause(A_PAGE.id) <= 180
    assert work.due() == []


def test_finished_work_has_no_row(work: Work) -> None:
    work.retry("a")
    work.finish("a")
    assert work.states() == {}
    work.finish("a")
    work.store.finish(WorkSubject("table", "00000000-0000-4000-8000-000000000001"), vendor_answered=True)


def test_a_retry_that_its_queue_forgot_is_sent_again_with_all_that_is_known_of_it(work: Work) -> None:
    removed = replace(A_PAGE, removed=True)
    work.store.record_retry(removed, "it failed", vendor=None, seconds=30)
    work.passes(200)
    assert work.due() == []
    work.passes(11)
    assert work.store.claim_due(limit=10) == [DueWork(removed, None, ())]
    assert work.states() == {A_PAGE.id: "waiting"}


def test_a_claim_is_one_s_own_for_three_minutes_and_then_anybody_s(work: Work) -> None:
    work.defer("a", vendor=None, seconds=0)
    assert (work.due(), work.due()) == (["a"], [])
    work.passes(170)
    assert work.due() == []
    work.passes(11)
    assert work.due() == ["a"]


# ---------------------------------------------------------------- waiting for a time


def test_what_waits_for_a_time_waits_exactly_so_long_and_comes_back_in_portions(work: Work) -> None:
    work.defer("a", "b", "c", vendor=None, seconds=3600)
    work.passes(3500)
    assert work.due() == []
    work.passes(101)
    assert [work.due(limit=2), work.due(limit=2)] == [["a", "b"], ["c"]]


def test_work_that_failed_for_too_long_is_not_deferred(work: Work) -> None:
    assert work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.passes(A_DAY)
    assert work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.passes(A_DAY + 1)
    before = work.row("a")
    assert not work.store.defer(page("a"), Defer(60, "still away", "openai", longest=2 * A_DAY))
    assert work.row("a") == before
    assert work.store.defer(page("a"), Defer(60, "tomorrow", None, longest=None))


@pytest.mark.parametrize("state", ["retrying", "waiting"])
def test_a_last_delivery_keeps_the_start_of_the_failures(work: Work, state: str) -> None:
    work.defer("a") if state == "waiting" else work.retry("a")
    work.passes(3 * A_DAY)
    work.store.record_last_delivery(page("a"), "no answer")
    assert work.states() == {"a": "failed"}
    assert not work.store.defer(page("a"), Defer(60, "away", "openai", longest=2 * A_DAY))
    work.store.record_dead_letter(page("a"), "away")
    assert age(work.row("a")) < 60


def test_a_last_delivery_that_may_wait_after_all_is_no_failure(work: Work) -> None:
    work.retry("a")
    work.passes(1200)
    work.store.record_last_delivery(page("a"), "no answer")
    work.defer("a", longest=2 * A_DAY)
    assert (work.row("a").state, work.row("a").reason) == ("waiting", "away")
    assert 1200 <= age(work.row("a")) < 1260


# ---------------------------------------------------------------- waiting for a vendor


@pytest.mark.parametrize(
    ("trouble", "shortest", "longest"),
    [(0, 30, 60), (100, 30, 60), (600, 150, 300), (1200, 300, 600), (3600, 450, 900), (A_DAY, 450, 900)],
)
def test_the_waits_grow_up_to_a_quarter_of_an_hour_and_half_of_each_is_chance(
    work: Work, trouble: int, shortest: int, longest: int
) -> None:
    work.retry("a")
    work.passes(trouble)
    for _ in range(10):
        work.defer("a", seconds=0)
        assert shortest - 5 <= work.pause("a") <= longest + 5


def test_what_a_vendor_asks_for_is_waited_for(work: Work) -> None:
    work.defer("a", seconds=700)
    assert 690 < work.pause("a") <= 700


def test_of_what_waits_for_a_vendor_one_goes_as_a_probe(work: Work) -> None:
    work.defer("a", "b", "c")
    work.defer("other", vendor="turbopuffer")
    work.passes(61)
    assert sorted(work.due()) == ["a", "other"]
    assert work.due() == []
    work.passes(100)
    assert work.due() == []
    # Nothing came of the probes: others follow.
    work.passes(81)
    assert len(work.due()) == 2


def test_a_vendor_that_answers_lets_the_others_go_in_portions(work: Work) -> None:
    work.defer("a", "b", "c", "d")
    work.defer("other", vendor="turbopuffer", seconds=600)
    work.passes(61)
    assert work.due() == ["a"]
    work.finish("a")
    assert [work.due(limit=2), work.due(limit=2)] == [["b", "c"], ["d"]]


def test_work_without_a_call_releases_no_other_work(work: Work) -> None:
    work.defer("a", "b", seconds=600)
    work.finish("a", vendor_answered=False)
    assert (work.due(), work.states()) == ([], {"b": "waiting"})


def test_a_probe_that_failed_holds_the_others_back_and_another_is_next(work: Work) -> None:
    work.defer("a", "b", "c")
    work.passes(61)
    assert work.due() == ["a"]
    work.defer("a", seconds=300)
    work.passes(250)
    assert work.due() == []
    work.passes(60)
    assert work.due() == ["b"]


def test_a_probe_that_its_queue_delivers_again_is_still_the_probe(work: Work) -> None:
    work.defer("a", "b")
    work.passes(61)
    assert work.due() == ["a"]
    work.retry("a", vendor="openai", seconds=30)
    work.passes(61)
    assert work.due() == []
    work.finish("a")
    assert work.due() == ["b"]


def test_a_probe_that_fails_for_another_reason_blocks_no_probe(work: Work) -> None:
    work.defer("a", "b")
    work.passes(61)
    assert work.due() == ["a"]
    work.retry("a", vendor=None)
    assert work.due() == ["b"]


def test_a_retry_in_an_hour_blocks_no_probe(work: Work) -> None:
    work.retry("a", vendor="openai", seconds=3600)
    work.defer("b")
    work.passes(61)
    assert work.due() == ["b"]


def test_any_answer_of_a_vendor_releases_the_waiting_work(work: Work) -> None:
    work.defer("a", "b", seconds=600)
    work.retry("new", vendor="openai")
    work.finish("new")
    assert work.due() == ["a", "b"]


def test_released_work_waits_again_if_the_vendor_fails_again(work: Work) -> None:
    work.defer("a", "b", "c", "d")
    work.passes(61)
    work.due()
    work.finish("a")
    assert work.due(limit=1) == ["b"]
    work.defer("b")
    work.passes(61)
    assert len(work.due()) == 1


# ---------------------------------------------------------------- dead letters


def test_a_dead_letter_is_kept_with_its_reason_for_fifteen_days(work: Work) -> None:
    work.retry("a")
    work.passes(3600)
    work.store.record_dead_letter(page("a"), "the page is poison")
    work.passes(14 * A_DAY)
    assert work.due() == []
    row = work.row("a")
    assert (row.state, row.reason, row.attempts, row.retry_at) == ("failed", "the page is poison", 2, None)
    assert 14 * A_DAY <= age(row) < 14 * A_DAY + 60
    work.passes(A_DAY + 1)
    assert (work.due(), work.states()) == ([], {})


def test_a_redriven_dead_letter_starts_again(work: Work) -> None:
    work.retry("a")
    work.passes(3 * A_DAY)
    work.store.record_dead_letter(page("a"), "it failed")
    work.passes(A_DAY)
    work.retry("a")
    assert (work.row("a").state, age(work.row("a")) < 60) == ("retrying", True)


@pytest.mark.parametrize(("outcome", "states"), [("failed", {"a": "failed"}), ("applied", {}), ("superseded", {})])
def test_the_receipt_of_a_version_finishes_it_but_for_that_of_a_dead_letter(
    work: Work, outcome: str, states: dict[str, str]
) -> None:
    work.store.record_dead_letter(page("a"), "the page is poison")
    receipt = {"key": "a", "version_id": "v1", "sequencer": "0A"}
    work.sql.execute("select record_upload_result(%s, %s, 'so')", [Jsonb(receipt), outcome])
    assert work.states() == states


# ---------------------------------------------------------------- newer and older events of a file


def test_an_older_event_does_not_hide_a_newer_one(work: Work) -> None:
    newer = replace(A_PAGE, version_id="v2", sequencer="0B", removed=True)
    for first, second in ((A_PAGE, newer), (newer, A_PAGE)):
        work.store.defer(first, Defer(0, "away"))
        work.store.defer(second, Defer(0, "away"))
        assert [due.subject for due in work.store.claim_due(limit=10)] == [newer]
        work.store.finish(newer, vendor_answered=True)


def test_an_older_event_does_not_finish_a_newer_one(work: Work) -> None:
    work.store.defer(replace(A_PAGE, sequencer="0B"), Defer(600, "away"))
    work.store.finish(A_PAGE, vendor_answered=True)
    assert len(work.states()) == 1
    work.store.finish(replace(A_PAGE, sequencer="0C"), vendor_answered=True)
    assert work.states() == {}


def test_the_current_version_finishes_every_event_of_its_key(work: Work) -> None:
    work.store.defer(A_PAGE, Defer(600, "away"))
    work.store.finish(replace(A_PAGE, sequencer="", version_id=None), vendor_answered=True)
    assert work.states() == {}


# ---------------------------------------------------------------- Tables


@pytest.fixture
def table(work: Work, empty_database: Database) -> str:
    """A Table with a Tool that waits to be indexed."""
    client = connected(empty_database.rest_url, empty_database.service_key)
    project = call(client, "create_project", {"p_name": "p"})["id"]
    made = call(client, "create_table", {"p_project": project, "p_name": "t", "p_data": '{"a": "b"}'})
    tool = {"p_json_path": "", "p_name": "s", "p_description": "d"}
    call(client, "create_tool", {"p_table": made["id"], **tool})
    return str(made["id"])


def of(table: str, fingerprint: str = AN_INDEX) -> WorkSubject:
    return WorkSubject("table", table, fingerprint)


def plan_chunks(work: Work, table: str, count: int) -> None:
    """Records chunks that are wanted and not stored."""
    for statement in CHUNKS:
        work.sql.execute(statement, {"table": table, "index": AN_INDEX, "count": count})


def only(due: Sequence[DueWork]) -> DueWork:
    (found,) = due
    return found


def test_a_table_waits_once_and_not_once_for_each_batch(work: Work, table: str) -> None:
    for _ in range(20):
        work.store.defer(of(table), Defer(0, "openai is away", "openai"))
        work.store.record_retry(of(table), "it failed", vendor=None, seconds=5)
        work.store.record_last_delivery(of(table), "no answer")
        work.store.record_dead_letter(of(table), "it failed for the last time")
    assert work.states() == {table: "waiting"}
    assert work.row(table).reason == "openai is away"


def test_a_table_probes_with_one_batch_and_is_scanned_when_the_vendor_answers(work: Work, table: str) -> None:
    plan_chunks(work, table, 40)
    work.store.defer(of(table), Defer(0, "away", "openai"))
    work.passes(61)
    probe = only(work.store.claim_due(limit=10))
    assert (probe.subject, len(probe.chunks)) == (of(table), 32)
    assert probe.project_id is not None
    work.store.finish(of(table), vendor_answered=True)
    assert work.states() == {table: "waiting"}
    assert only(work.store.claim_due(limit=10)).chunks == ()
    work.store.finish(of(table), vendor_answered=False)
    assert work.states() == {}


def test_a_scan_that_was_under_way_does_not_finish_a_table_that_waits(work: Work, table: str) -> None:
    work.store.defer(of(table), Defer(600, "away", "openai"))
    work.store.finish(of(table), vendor_answered=False)
    assert work.states() == {table: "waiting"}


def test_a_table_that_waits_for_a_time_is_scanned(work: Work, table: str) -> None:
    plan_chunks(work, table, 40)
    work.store.defer(of(table), Defer(60, "a namespace is busy"))
    work.passes(61)
    assert only(work.store.claim_due(limit=10)).chunks == ()


def test_a_table_waits_for_each_index_by_itself(work: Work, table: str) -> None:
    work.store.defer(of(table, "one"), Defer(0, "a namespace is busy"))
    work.store.defer(of(table, "other"), Defer(600, "a namespace is busy"))
    assert [due.subject.fingerprint for due in work.store.claim_due(limit=10)] == ["one"]


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
        "select has_unfinished_work(%s, %s), jsonb_array_length(stalled_tables(%s, 120))", [table, index, index]
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


# ---------------------------------------------------------------- what people see


def test_rows_are_found_by_state_and_subject(work: Work) -> None:
    work.retry("a")
    work.passes(10)
    work.defer("b")
    work.store.record_dead_letter(WorkSubject("upload", "tables/p/t/1.json"), "it failed")
    assert [row.subject for row in work.store.rows()] == ["a", "b", "tables/p/t/1.json"]
    assert [row.subject for row in work.store.rows(state="waiting")] == ["b"]
    assert [row.subject for row in work.store.rows(subjects=["a", "nobody"])] == ["a"]
    assert work.store.rows(subjects=[]) == []
    (first,) = work.store.rows(limit=1)
    rest = work.store.rows(after=first.place)
    assert [row.subject for row in (first, *rest)] == ["a", "b", "tables/p/t/1.json"]
    assert work.store.rows(after=rest[-1].place) == []


def test_counts_are_by_state_and_what_waits_for_tomorrow_is_not_old(work: Work) -> None:
    work.defer("a", vendor=None, seconds=A_DAY)
    work.retry("b")
    work.store.record_dead_letter(page("c"), "it failed")
    work.passes(7200)
    counts = work.store.counts()
    assert (dict(counts.states), counts.oldest_waiting_seconds) == ({"retrying": 1, "waiting": 1, "failed": 1}, 0)
    work.passes(A_DAY)
    assert work.store.counts().oldest_waiting_seconds > A_DAY
    work.finish("a")
    work.defer("d")
    work.passes(100)
    assert 100 <= work.store.counts().oldest_waiting_seconds < 160


def age(row: UnfinishedWork) -> float:
    """Returns the seconds since the first failure."""
    since = datetime.fromisoformat(row.since)
    return (datetime.now(since.tzinfo) - since).total_seconds()


# ---------------------------------------------------------------- many at once


def test_of_many_at_once_each_row_is_claimed_by_one(work: Work) -> None:
    names = [f"m{number:02}" for number in range(40)]
    work.defer(*names, vendor=None, seconds=0)
    with ThreadPoolExecutor(4) as pool:
        claimed = [name for due in pool.map(lambda _: work.due(limit=15), range(4)) for name in due]
    claimed += work.due()
    assert sorted(claimed) == names


def test_workers_that_wait_for_one_vendor_do_not_wait_for_each_other(work: Work, table: str) -> None:
    subjects = [of(table), *(page(f"m{number:02}") for number in range(40))]

    def waits_and_finishes(number: int) -> None:
        for subject in subjects[number::2] + subjects[:1]:
            work.store.defer(subject, Defer(60, "away", "openai"))
            work.store.claim_due(limit=3)
            work.store.finish(subject, vendor_answered=number % 2 == 0)
            work.store.defer(subject, Defer(60, "away", "openai"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(waits_and_finishes, range(4)))
    assert set(work.states().values()) == {"waiting"}
    assert len(work.states()) == len(subjects)


def test_an_outage_of_much_work_reads_each_row_a_few_times_and_rewrites_none(work: Work) -> None:
    work.sql.execute(WAITING, {"rows": MANY})
    work.sql.execute("analyze unfinished_work")
    waiting = [Jsonb({"kind": "file", "subject": "new", "fingerprint": ""}), "waiting", "away", "openai", 60, None]
    with work.sql.transaction():
        before = touched(work.sql)
        work.sql.execute("select record_unfinished(%s, %s, %s, %s, %s, %s)", waiting)
        assert touched(work.sql)["rewritten"] == before["rewritten"]
        due = work.sql.execute("select jsonb_array_length(claim_due_work(100, 60, 32))").fetchone()
        assert due == (1,)
        # One look at all of them for each would be 160,000.
        assert MANY <= touched(work.sql)["read"] - before["read"] <= 20 * MANY


def touched(sql: psycopg.Connection) -> dict[str, int]:
    """Returns how many rows this session has read and rewritten in its transaction."""
    found = sql.execute(TOUCHED).fetchone()
    assert found is not None
    return dict(zip(("read", "rewritten"), found, strict=True))


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable) as failure:
        UnfinishedWorkStore(short_client("http://127.0.0.1:9", "key")).counts()
    assert failure.value.vendor == "supabase"
