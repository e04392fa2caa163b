"""The rate limit of a key over all workers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import psycopg
import pytest
from sakuin.errors import OverLimit
from sakuin.mcp.rate_limiter import RateLimiter
from sakuin.platform.supabase.client import Client

from tests.doubles.allowances import ClockedAllowances


@dataclass
class Fleet:
    """Workers of one deployment, at one time."""

    client: Client
    sql: psycopg.Connection
    per_minute: int
    workers: int = 1
    now: float = 0.0
    all: list[RateLimiter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.allowances = ClockedAllowances(self.client, self.sql, lambda: self.now)
        self.all = [RateLimiter(self.allowances, self.per_minute, lambda: self.now) for _ in range(self.workers)]

    def answered(self, searches: int, *, each: int = 1, key: str = "k") -> int:
        """Returns how many of so many requests are allowed, spread over the workers."""
        return sum(self._passes(self.all[place % self.workers], key, each) for place in range(searches))

    def _passes(self, worker: RateLimiter, key: str, count: int) -> bool:
        try:
            worker(key, count)
        except OverLimit:
            return False
        return True


@pytest.fixture
def a_fleet(service: Client, sql: psycopg.Connection) -> Callable[..., Fleet]:
    """Makes workers of a deployment with so many searches `per_minute`."""
    return partial(Fleet, service, sql)


def test_a_key_gets_its_searches_and_then_a_retry_time(a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(per_minute=50)
    assert (fleet.answered(80), fleet.answered(80, key="other")) == (50, 50)
    fleet.now = 13
    with pytest.raises(OverLimit, match=r"50 searches in a minute \(queries_per_minute\)") as raised:
        fleet.all[0]("k", 1)
    assert raised.value.retry_after == 47
    fleet.now = 61
    assert fleet.answered(80) == 50


def test_the_first_searches_and_refusals_do_not_call_postgres(a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(per_minute=3000)
    fleet.answered(30)
    assert fleet.allowances.asked == 0
    fleet.answered(970)
    assert fleet.allowances.asked == 10
    fleet.answered(9000)
    over = fleet.allowances.asked
    fleet.answered(9000)
    assert fleet.allowances.asked == over < 100


@pytest.mark.parametrize("workers", [2, 10])
def test_all_workers_together_stay_near_the_limit(a_fleet: Callable[..., Fleet], workers: int) -> None:
    fleet = a_fleet(per_minute=3000, workers=workers)
    got = fleet.answered(3 * 3000)
    assert 0.99 * 3000 <= got <= 3000 + workers * 30


def test_a_batch_counts_each_of_its_searches_and_passes_whole_or_not_at_all(a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(per_minute=50)
    assert fleet.answered(5, each=20) == 2
    assert fleet.answered(20) == 10


def test_no_limit_calls_no_postgres(a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(per_minute=0)
    assert (fleet.answered(1000), fleet.allowances.asked) == (1000, 0)


def test_without_postgres_searches_are_allowed_and_few_calls_are_made(a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(per_minute=100)
    fleet.allowances.away = True
    assert fleet.answered(60) == 60
    assert fleet.allowances.asked == 1
    fleet.allowances.away = False
    fleet.now = 11
    assert fleet.answered(300) == 101
