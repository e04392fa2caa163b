"""What people see of unfinished work, and many rows at once."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg.types.json import Jsonb
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import WorkSubject

from tests.platform.unfinished_work.conftest import A_DAY, Work, of, page

MANY = 400
WAITING = b"""insert into unfinished_work
    (kind, subject, message, state, reason, vendor, attempts, waits, since, retry_at)
  select 'file', 'm' || n, '{}', 'waiting', 'away', 'openai', 1, 1, now() - interval '1 hour', now()
  from generate_series(1, %(rows)s) n"""
TOUCHED = b"""select pg_stat_get_xact_tuples_returned(t) + pg_stat_get_xact_tuples_fetched(t),
  pg_stat_get_xact_tuples_updated(t) from (select 'unfinished_work'::regclass as t) x"""


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
        due = work.sql.execute("select jsonb_array_length(claim_due_work(100, 60))").fetchone()
        assert due == (1,)
        # One look at all of them for each would be 160,000.
        assert MANY <= touched(work.sql)["read"] - before["read"] <= 20 * MANY


def touched(sql: psycopg.Connection) -> dict[str, int]:
    """Returns how many rows this session has read and rewritten in its transaction."""
    found = sql.execute(TOUCHED).fetchone()
    assert found is not None
    return dict(zip(("read", "rewritten"), found, strict=True))
