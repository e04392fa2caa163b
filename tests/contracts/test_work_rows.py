"""What every `WorkRows` promises: what nobody holds any more is sent again, once, and in good order."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.types.json import Jsonb
from sakuin.adapters.supabase_client import connected
from sakuin.adapters.supabase_work import SupabaseWork, connected_beside
from sakuin.domain.material_version import Source
from sakuin.domain.work import About, Again, Begun, Dead, Done, Ended, Outcome, Parked, Taken
from sakuin.errors import Unavailable
from sakuin.ports.work import WorkRows
from sakuin_local.database import Database

from tests.in_memory.work import MemoryWork

A_DAY = 86_400
A_TABLE = b"""with p as (insert into project (name) values ('p') returning id)
  insert into context_table (project_id, name, version) select id, 't', 0 from p returning id"""
PAGE = About("junior/x")
# Lets as much time pass over every row as `t` says.
PASSES = b"""update work set until = until - %(t)s::interval, since = since - %(t)s::interval,
  heartbeat_at = heartbeat_at - %(t)s::interval, taken_at = taken_at - %(t)s::interval,
  sent_at = sent_at - %(t)s::interval"""

MANY = 400
PARKED = b"""insert into work (id, queue, body, state, attempt, parks, vendor, reason, since, sent_at, until)
  select 'm' || n, 'embed', 'body', 'parked', 0, 1, 'openai', 'away', now() - interval '1 hour', now(), now()
  from generate_series(1, %(rows)s) n"""
TOUCHED = b"""select pg_stat_get_xact_tuples_returned(t) + pg_stat_get_xact_tuples_fetched(t),
  pg_stat_get_xact_tuples_updated(t) from (select 'work'::regclass as t) x"""


@dataclass
class Work:
    """Rows, and a way to let time pass."""

    rows: WorkRows
    passes: Callable[[float], None]
    now: Callable[[], float]
    table: str = "a table"

    def message(self, name: str = "m1", *, about: About = PAGE, tries: int = 1, age: float = 0) -> Taken:
        return Taken(name, "material", f"body of {name}", "r1", about, tries, self.now() - age)

    def end(self, outcome: Outcome, *names: str) -> None:
        self.rows.end([Ended(self.message(name), outcome) for name in names])

    def park(self, *names: str, vendor: str | None = "openai", seconds: float = 60) -> None:
        """Taken, and parked one after the other."""
        for name in names:
            self.rows.begin([self.message(name)])
            self.end(Parked(seconds, "away", vendor), name)
            self.passes(0.01)

    def due(self, limit: int = 100) -> list[str]:
        return [work.id for work in self.rows.due(limit=limit)]

    def states(self) -> dict[str, str]:
        return {row.id: row.state for row in self.rows.rows()}


@pytest.fixture(params=["memory", "supabase"])
def work(request: pytest.FixtureRequest, database: Database, sql: psycopg.Connection) -> Work:
    """Each adapter in turn, empty."""
    if request.param == "memory":
        memory = MemoryWork()

        def passed(seconds: float) -> None:
            memory.now += seconds

        return Work(memory, passed, lambda: memory.now)
    sql.execute("truncate work, table_restart")

    def passes(seconds: float) -> None:
        by = {"t": f"{seconds} seconds"}
        sql.execute(PASSES, by)
        sql.execute(b"update table_restart set at = at - %(t)s::interval", by)

    made = sql.execute(A_TABLE).fetchone()
    assert made is not None
    rows = SupabaseWork(connected_beside(database.rest_url, database.service_key))
    return Work(rows, passes, time.time, str(made[0]))


def test_what_is_done_leaves_nothing(work: Work) -> None:
    assert work.rows.begin([work.message()]) == {"m1": Begun(1, 0)}
    assert work.states() == {"m1": "in_hand"}
    work.end(Done(), "m1")
    assert work.states() == {}


def test_work_that_shows_life_is_nobody_else_s(work: Work) -> None:
    work.rows.begin([work.message()])
    for _ in range(10):
        work.passes(20)
        work.rows.beat(["m1"])
    assert work.due() == []


def test_work_without_a_sign_of_life_is_sent_again_with_all_that_it_was(work: Work) -> None:
    source = Source("bucket", "x.html", "v1", "00A")
    work.rows.begin([work.message(about=About("x", source))])
    # 45 seconds, less what the test itself may take.
    work.passes(40)
    assert work.due() == []
    work.passes(6)
    (due,) = work.rows.due(limit=10)
    assert (due.id, due.body, due.correlation_id, due.queue) == ("m1", "body of m1", "r1", "material")
    assert (due.about, due.attempt, due.lost) == (About("x", source), 1, True)


def test_work_of_one_index_over_tables_is_sent_again_as_that_index_s(work: Work) -> None:
    about = About("11111111-2222-4333-8444-555555555555", fingerprint="one of two")
    work.rows.begin([work.message(about=about)])
    work.passes(46)
    assert [due.about for due in work.rows.due(limit=10)] == [about]
    work.rows.end([Ended(work.message("unbegun", about=about), Parked(5, "away", "openai"))])
    work.passes(6)
    assert [due.about for due in work.rows.due(limit=10)] == [about]


def test_a_claim_is_one_s_own_for_a_minute_and_then_anybody_s(work: Work) -> None:
    work.rows.begin([work.message()])
    work.passes(50)
    assert work.due() == ["m1"]
    assert work.due() == []
    work.passes(61)
    assert work.due() == ["m1"]


def test_what_is_in_its_queue_again_is_left_alone_until_it_must_be_lost(work: Work) -> None:
    work.rows.begin([work.message()])
    work.passes(50)
    work.rows.sent(work.due())
    work.passes(100)
    assert work.due() == []
    work.passes(101)
    assert work.due() == ["m1"]


def test_a_copy_counts_on_and_its_end_is_the_end(work: Work) -> None:
    work.rows.begin([work.message()])
    assert work.rows.begin([work.message()]) == {"m1": Begun(2, 0)}
    work.end(Done(), "m1")
    work.rows.beat(["m1"])
    assert work.states() == {}


def test_a_message_and_its_copy_may_come_in_one_batch(work: Work) -> None:
    assert work.rows.begin([work.message(), work.message(), work.message("m2")]).keys() == {"m1", "m2"}


def test_a_failure_says_why_and_since_when_and_is_the_queue_s_to_repeat(work: Work) -> None:
    work.rows.begin([work.message()])
    work.end(Again(30, "it failed"), "m1")
    (row,) = work.rows.rows()
    assert (row.state, row.attempt, row.reason, row.subject) == ("waiting", 1, "it failed", "junior/x")
    assert row.since is not None
    work.passes(180)
    assert work.due() == []
    assert work.rows.begin([work.message(tries=2)]) == {"m1": Begun(2, 0)}


def test_a_failure_that_its_queue_has_forgotten_is_sent_again(work: Work) -> None:
    work.rows.begin([work.message()])
    work.end(Again(30, "it failed"), "m1")
    work.passes(211)
    (due,) = work.rows.due(limit=10)
    assert (due.id, due.lost) == ("m1", False)


def test_rows_that_could_not_be_begun_are_written_at_the_end(work: Work) -> None:
    work.end(Parked(60, "away", "openai"), "m1")
    work.end(Again(5, "it failed"), "m2")
    work.end(Dead("gone"), "m3")
    assert work.states() == {"m1": "parked", "m2": "waiting", "m3": "dead"}


def test_what_waits_for_the_next_day_comes_back_with_it_all_at_once(work: Work) -> None:
    work.park("m1", "m2", "m3", vendor=None, seconds=3600)
    work.passes(3500)
    assert work.due() == []
    work.passes(200)
    assert work.due(limit=2) == ["m1", "m2"]
    assert work.due(limit=2) == ["m3"]


def test_parked_work_begins_with_all_its_tries_and_remembers_since_when_it_waits(work: Work) -> None:
    work.rows.begin([work.message(tries=4)])
    work.end(Parked(60, "away", "openai"), "m1")
    (first,) = work.rows.rows(state="parked")
    work.passes(70)
    assert work.due() == ["m1"]
    begun = work.rows.begin([work.message()])
    assert begun == {"m1": Begun(1, 1)}
    assert 69 <= begun["m1"].waited <= 90
    work.end(Parked(120, "away", "openai"), "m1")
    assert work.rows.begin([work.message()]) == {"m1": Begun(1, 2)}
    assert work.rows.counts().oldest_parked_seconds == 0
    work.end(Parked(120, "away", "openai"), "m1")
    assert 69 <= work.rows.counts().oldest_parked_seconds <= 90
    assert first.vendor == "openai"


def test_of_what_waits_for_a_vendor_one_goes_as_a_probe(work: Work) -> None:
    work.park("m1", "m2", "m3")
    work.park("other", vendor="turbopuffer")
    work.passes(70)
    assert sorted(work.due()) == ["m1", "other"]
    assert work.due() == []
    work.rows.begin([work.message("m1")])
    assert work.due() == []


def test_a_probe_that_is_done_lets_the_others_go_in_portions(work: Work) -> None:
    work.park("m1", "m2", "m3", "m4")
    work.park("other", vendor="turbopuffer", seconds=600)
    work.passes(70)
    work.rows.sent(work.due())
    work.rows.begin([work.message("m1")])
    work.end(Done(), "m1")
    assert work.due(limit=2) == ["m2", "m3"]
    assert work.due(limit=2) == ["m4"]


def test_a_probe_that_failed_holds_the_others_back_and_another_is_next(work: Work) -> None:
    work.park("m1", "m2", "m3")
    work.passes(70)
    work.rows.begin([work.message(name) for name in work.due()])
    work.end(Parked(300, "still away", "openai"), "m1")
    work.passes(250)
    assert work.due() == []
    work.passes(60)
    assert work.due() == ["m2"]


def test_a_vendor_that_goes_again_keeps_what_was_let_go(work: Work) -> None:
    work.park("m1", "m2", "m3", "m4")
    work.passes(70)
    work.rows.begin([work.message(name) for name in work.due()])
    work.end(Done(), "m1")
    assert work.due(limit=1) == ["m2"]
    work.rows.begin([work.message("m2")])
    work.end(Parked(60, "away", "openai"), "m2")
    work.passes(70)
    assert len(work.due()) == 1


def test_a_probe_that_is_tried_again_is_still_the_probe(work: Work) -> None:
    work.park("m1", "m2")
    work.passes(70)
    work.rows.begin([work.message(name) for name in work.due()])
    work.end(Again(5, "still away", "openai"), "m1")
    assert work.due() == []
    work.rows.begin([work.message("m1")])
    work.end(Done(), "m1")
    assert work.due() == ["m2"]


def test_whoever_a_vendor_has_answered_lets_the_others_go(work: Work) -> None:
    work.park("m1", "m2", seconds=600)
    work.rows.begin([work.message("new")])
    work.end(Again(5, "away", "openai"), "new")
    work.rows.begin([work.message("new")])
    work.end(Done(), "new")
    assert work.due() == ["m1", "m2"]


def test_a_probe_that_is_no_good_does_not_stand_in_the_way(work: Work) -> None:
    work.park("m1", "m2")
    work.passes(70)
    work.rows.begin([work.message(name) for name in work.due()])
    work.end(Again(5, "another failure"), "m1")
    assert work.due() == ["m2"]


def test_what_its_queue_gives_out_in_an_hour_does_not_stand_in_the_way_of_a_probe(work: Work) -> None:
    work.rows.begin([work.message("m1")])
    work.end(Again(3600, "come back in an hour", "openai"), "m1")
    work.park("m2")
    work.passes(70)
    assert work.due() == ["m2"]


def test_a_copy_that_is_older_than_the_death_of_its_work_is_known_as_dead(work: Work) -> None:
    work.rows.begin([work.message(age=600)])
    work.rows.bury("m1", "its worker died")
    assert work.rows.begin([work.message(age=600)])["m1"].dead
    assert work.states() == {"m1": "dead"}


def test_a_dead_letter_that_is_sent_again_begins_anew(work: Work) -> None:
    work.rows.begin([work.message(tries=5, age=600)])
    work.end(Dead("it failed"), "m1")
    work.passes(100)
    assert work.rows.begin([work.message()]) == {"m1": Begun(1, 0)}
    (row,) = work.rows.rows()
    assert (row.state, row.reason, row.since) == ("in_hand", None, None)


def test_the_dead_are_not_sent_again_and_say_why(work: Work) -> None:
    work.rows.begin([work.message()])
    work.end(Dead("it failed"), "m1")
    work.passes(A_DAY)
    assert work.due() == []
    (row,) = work.rows.rows(state="dead", ids=["m1", "nobody"])
    assert (row.reason, row.until) == ("it failed", None)


def test_rows_are_found_by_what_they_are_about(work: Work) -> None:
    work.rows.begin([work.message("m1", about=About("junior/が")), work.message("m2", about=About(None))])
    assert [row.id for row in work.rows.rows(subjects=["junior/が", "else"])] == ["m1"]
    assert [row.id for row in work.rows.rows(subjects=[])] == []
    assert work.rows.rows(queue="embed") == []
    assert len(work.rows.rows(limit=1)) == 1


def test_counts_are_by_state_and_what_waits_for_tomorrow_is_not_old(work: Work) -> None:
    work.park("m1", vendor=None, seconds=A_DAY)
    work.rows.begin([work.message("m2")])
    work.end(Dead("gone"), "m3")
    work.passes(7200)
    assert dict(work.rows.counts().states) == {"in_hand": 1, "waiting": 0, "parked": 1, "dead": 1}
    assert work.rows.counts().oldest_parked_seconds == 0
    work.passes(A_DAY)
    assert work.rows.counts().oldest_parked_seconds > A_DAY


def test_of_many_at_once_each_row_is_claimed_by_one(database: Database, sql: psycopg.Connection) -> None:
    sql.execute("truncate work")
    rows = SupabaseWork(connected(database.rest_url, database.service_key))
    taken = [Taken(f"m{n:02}", "material", "body", "", About("x"), 1, time.time()) for n in range(40)]
    rows.begin(taken)
    sql.execute("update work set until = now() - interval '1 second'")
    others = [SupabaseWork(connected(database.rest_url, database.service_key)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        claimed = [one.id for due in pool.map(lambda one: one.due(limit=15), others) for one in due]
    claimed += [one.id for one in rows.due(limit=100)]
    assert sorted(claimed) == [one.id for one in taken]


def test_two_that_park_for_one_vendor_at_once_do_not_wait_for_each_other(
    database: Database, sql: psycopg.Connection
) -> None:
    sql.execute("truncate work")
    taken = [Taken(f"m{n:02}", "material", "body", "", About("x"), 1, time.time()) for n in range(60)]

    def parked(some: list[Taken]) -> None:
        rows = SupabaseWork(connected(database.rest_url, database.service_key))
        for one in some:
            rows.begin([one])
            rows.end([Ended(one, Parked(60, "away", "openai"))])
            rows.end([Ended(one, Parked(60, "away", "openai"))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(parked, [taken[n::4] for n in range(4)]))
    assert sql.execute("select count(*), min(parks) from work where state = 'parked'").fetchone() == (60, 2)


def test_how_often_a_table_was_started_again_is_counted_for_each_index(work: Work) -> None:
    def restarted(index: str) -> int | None:
        return work.rows.restarted(work.table, index, seconds=120)

    assert (restarted("one"), restarted("one"), restarted("other")) == (1, None, 1)
    work.passes(121)
    assert (restarted("one"), restarted("other"), restarted("other")) == (2, 2, None)
    work.passes(A_DAY)
    assert restarted("one") == 1


def test_an_outage_that_parks_much_reads_each_row_a_few_times_and_rewrites_none(sql: psycopg.Connection) -> None:
    sql.execute("truncate work")
    sql.execute(PARKED, {"rows": MANY})
    sql.execute("analyze work")
    ended = {"id": "new", "queue": "material", "body": "b", "correlation_id": "", "tries": 1, "sent_at": 0}
    ended |= {"outcome": "parked", "reason": "away", "vendor": "openai", "seconds": 60}
    with sql.transaction():
        before = touched(sql)
        sql.execute("select work_ended(%s)", [Jsonb([ended])])
        assert touched(sql)["rewritten"] == before["rewritten"]
        assert sql.execute("select jsonb_array_length(work_due(100, 60))").fetchone() == (1,)
        # One look at all of them for each would be 160,000.
        assert MANY <= touched(sql)["read"] - before["read"] <= 20 * MANY


def touched(sql: psycopg.Connection) -> dict[str, int]:
    """How many rows this session has read and rewritten; a transaction sees them grow."""
    found = sql.execute(TOUCHED).fetchone()
    assert found is not None
    return dict(zip(("read", "rewritten"), found, strict=True))


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        SupabaseWork(connected_beside("http://127.0.0.1:9", "key")).beat(["m1"])
