"""What `Quotas` promises."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
import pytest
from sakuin.mcp.rate_limiter import Quotas
from sakuin.platform.supabase.client import Client


@dataclass(frozen=True, slots=True)
class Counted:
    port: Quotas
    sql: psycopg.Connection

    def pass_a_minute(self) -> None:
        self.sql.execute("update quota_use set began = began - interval '2 hours'")

    def taken(self, key: str, *, wanted: int = 10, per_minute: int = 100) -> int:
        """All searches that one worker gets."""
        got = 0
        while granted := self.port.take(key, wanted=wanted, per_minute=per_minute).searches:
            assert granted <= wanted
            got += granted
        return got


@pytest.fixture
def counted(service: Client, sql: psycopg.Connection) -> Counted:
    sql.execute("delete from quota_use")
    # A minute that lies ahead goes on until it is there: a test may run over the end of one.
    sql.execute(
        "insert into quota_use"
        " select k, 'searches', now() + interval '1 hour', 0 from unnest(array['k', 'one', 'two']) k"
    )
    return Counted(Quotas(service), sql)


def test_a_key_gets_its_minute_in_blocks_of_at_most_a_quarter_of_what_is_left(counted: Counted) -> None:
    assert [counted.port.take("k", wanted=wanted, per_minute=100).searches for wanted in (10, 1000)] == [10, 23]
    assert counted.taken("k") == 67
    # The limit was lowered.
    assert counted.port.take("k", wanted=1, per_minute=50).searches == 0
    counted.pass_a_minute()
    begun = counted.port.take("k", wanted=1000, per_minute=100)
    assert (begun.searches, 0 < begun.seconds <= 60) == (25, True)


def test_workers_at_the_same_time_get_no_more_together(counted: Counted) -> None:
    with ThreadPoolExecutor(4) as workers:
        assert sum(workers.map(lambda _: counted.taken("k", wanted=3), range(4))) == 100


def test_a_quota_is_used_to_its_end_and_anew_in_its_next_period(sql: psycopg.Connection) -> None:
    take = "select take_quota('k', 'sign_ins_of_account', 1000000000, {})"
    all_but_one = take.format("quota_of('sign_ins_of_account') - 1").encode()
    sql.execute(all_but_one)
    sql.execute(take.format(1).encode())
    with pytest.raises(psycopg.Error, match="sign_ins_of_account"):
        sql.execute(take.format(1).encode())
    sql.execute("update quota_use set began = began - interval '1 day' where principal = 'k'")
    sql.execute(all_but_one)
    sql.execute(take.format(1).encode())
    sql.execute("delete from quota_use where principal = 'k'")
