"""The rate limit of a key over all workers, and the answers beyond it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import psycopg
import pytest
from sakuin.errors import OverLimit, Unavailable
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.rate_limiter import Grant, Quotas, RateLimiter
from sakuin.platform.keys import KEY_PREFIX, hash_of_key
from sakuin.platform.supabase.client import Client
from sakuin.tables.model import Endpoint

from tests.events import ENDPOINT, ENDPOINT_KEY
from tests.mcp.wire import Ask, app_of
from tests.worlds import World

NEXT = KEY_PREFIX + "n" * 43

CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_concepts", "arguments": {}}}

LIST = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}

OLD = {"mcp_protocol_version": "2025-03-26"}

NEW = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call"}


@dataclass
class ClockedAllowances:
    """`Quotas` whose minutes are those of `clock`, in seconds. `away`: it does not answer. `asked` counts."""

    client: Client
    sql: psycopg.Connection
    clock: Callable[[], float]
    asked: int = 0
    away: bool = False
    _minutes: dict[str, int] = field(default_factory=dict)

    def take(self, holder: str, *, wanted: int, per_minute: int) -> Grant:
        self.asked += 1
        if self.away:
            raise Unavailable("Supabase did not answer")
        minute, passed = divmod(self.clock(), 60)
        if self._minutes.get(holder) != minute:
            self._minutes[holder] = int(minute)
            self._begin_minute(holder)
        granted = Quotas(self.client).take(holder, wanted=wanted, per_minute=per_minute)
        return Grant(granted.searches, 60 - passed)

    def _begin_minute(self, holder: str) -> None:
        # One that lies ahead goes on until it is there, whatever minute Postgres is in.
        self.sql.execute(
            "insert into public.quota_use values (%s, 'searches', now() + interval '1 hour', 0)"
            " on conflict (principal, quota) do update set began = excluded.began, used = 0",
            [holder],
        )


@pytest.fixture(autouse=True)
def nothing_used(sql: psycopg.Connection) -> None:
    """Begins with no search of any key."""
    sql.execute("truncate quota_use")


@dataclass
class Deployment:
    """A worker of the function `mcp`; any endpoint opens with two keys, and its id begins with that of its project."""

    world: World
    per_minute: int = 3
    now: float = 0.0

    def __post_init__(self) -> None:
        self.tools = KnowledgeTools(self.world, self.world.read)
        allowances = ClockedAllowances(self.world.client, self.world.sql, lambda: self.now)
        self.allow = RateLimiter(allowances, self.per_minute, lambda: self.now)

    def endpoint(self, mcp_id: str, _key_hash: str) -> tuple[tuple[str, ...], Endpoint]:
        return tuple(hash_of_key(key) for key in (ENDPOINT_KEY, NEXT)), Endpoint(mcp_id, mcp_id[:8], ())

    @property
    def ask(self) -> Ask:
        return Ask(app_of(self.tools, endpoint=self.endpoint, allow=self.allow))

    def statuses(self, *requests: object, path: str = "/mcp", **headers: str) -> list[int]:
        """Returns the statuses of some requests, one after the other."""
        ask = self.ask
        return [ask(body, path=path, **(OLD | headers)).status for body in requests]


def test_beyond_its_searches_a_key_gets_429_and_when_there_are_more(world: World) -> None:
    ask = Deployment(world, now=13.0).ask
    answers = [ask(CALL, **OLD) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "47"
    said = answers[-1].json
    assert (said["jsonrpc"], said["id"]) == ("2.0", 2)
    assert said["error"]["message"].startswith("The limit of 3 searches in a minute (queries_per_minute)")
    assert said["error"]["message"].endswith("Try again in 47 s.")


def test_the_revision_without_a_handshake_is_counted_too(world: World) -> None:
    deployment = Deployment(world, per_minute=1)
    deployment.statuses(CALL)
    assert deployment.statuses(CALL, **NEW) == [429]


def test_a_batch_is_refused_and_costs_nothing(world: World) -> None:
    assert Deployment(world, per_minute=1).statuses([CALL] * 20, CALL) == [400, 200]


def test_each_of_several_questions_counts(world: World) -> None:
    asked = {"queries": ["解の公式"] * 3}
    call = CALL | {"params": {"name": "search_knowledge", "arguments": asked}}
    assert Deployment(world, per_minute=5).statuses(call, call) == [200, 429]
    over_rest = Deployment(world, per_minute=5).statuses(asked, asked, path="/v1/search")
    assert over_rest == [200, 429]


def test_a_method_that_is_spelled_with_escapes_is_counted(world: World) -> None:
    body = '{"jsonrpc":"2.0","id":1,"method":"tools\\/c\\u0061ll","params":{"name":"list_concepts","arguments":{}}}'
    assert Deployment(world, per_minute=1).statuses(body, body) == [200, 429]


def test_what_is_no_call_of_a_tool_costs_nothing(world: World) -> None:
    assert Deployment(world, per_minute=1).statuses(*[LIST] * 5) == [200] * 5


def test_all_keys_and_endpoints_of_a_project_share_its_minute_and_projects_do_not(world: World) -> None:
    deployment, path = Deployment(world, per_minute=2), f"/mcp/{ENDPOINT}"
    keys = [f"Bearer {key}" for key in (ENDPOINT_KEY, NEXT)]
    first, second = (deployment.statuses(CALL, path=path, authorization=key) for key in keys)
    assert 429 not in first + second
    assert [deployment.statuses(CALL, path=path, authorization=key) for key in keys] == [[429], [429]]
    assert deployment.statuses(CALL, path=path[:-1] + "f", authorization=keys[0]) == [429]
    assert 429 not in deployment.statuses(CALL, path=f"/mcp/f{ENDPOINT[1:]}", authorization=keys[0])


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
