"""Hours without a vendor: no dead letters, few calls, and all work done soon after."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from sakuin.errors import Refused, Unavailable
from sakuin.knowledge.messages import BucketEvent, MaterialQueue, RecheckKey, read_event
from sakuin.platform.calls import Circuit, Retries, VendorCalls
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import connected
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.upkeep.maintain import ResumeWork
from sakuin_local.supabase.database import Database

from tests.convergence.passing import work_ages
from tests.doubles.sqs import ModelledSqs
from tests.worked_queue import WorkedQueue

PAGES = 12
A_MINUTE = 4
NOWHERE = UnfinishedWorkStore(connected("http://127.0.0.1:9", "key", seconds=2))


@dataclass
class Pages:
    """A `QueueWork` whose pages each need one call of a vendor. The test sets what is wrong with the vendor.

    `calls` are the product's own circuit and retries of one worker, by the clock of the queue.
    """

    sqs: ModelledSqs
    vendor_away: bool = False
    key_refused: bool = False
    supabase_away: bool = False
    poison: str | None = None
    hot: Callable[[str], bool] = lambda _page: False
    is_cold: bool = False
    shares_a_circuit: bool = False
    asked: int = 0
    done: set[str] = field(default_factory=set)
    gave_up: list[str] = field(default_factory=list)
    circuit: Circuit = field(init=False)

    def __post_init__(self) -> None:
        self.circuit = Circuit("vendor-work", "openai", clock=lambda: self.sqs.now)

    def read(self, message: Mapping[str, Any]) -> BucketEvent | None:
        return read_event(message)

    def give_up(self, asked: RecheckKey, reason: str) -> None:
        self.gave_up.append(asked.key)

    def process(self, asked: RecheckKey) -> None:
        if self.supabase_away:
            raise Unavailable("Supabase did not answer", vendor="supabase")
        namespace = "hot" if self.hot(asked.key) else "cold"
        retries = Retries(attempts=1, max_seconds=1.0, max_pause=1.0)
        # A worker that has just started knows nothing of the vendor: the most that an outage can cost.
        circuit = (
            self.circuit if self.shares_a_circuit else Circuit("vendor-work", "openai", clock=lambda: self.sqs.now)
        )
        VendorCalls(retries, circuit)(lambda: self.call(asked.key, namespace), namespace=namespace)
        self.done.add(asked.key)

    def call(self, page: str, namespace: str) -> None:
        self.asked += 1
        if self.vendor_away:
            raise Unavailable("The embedding service did not answer", vendor="openai")
        if self.key_refused or page == self.poison:
            raise Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")
        if namespace == "hot" and not self.is_cold:
            raise Unavailable("turbopuffer answered 429", vendor="turbopuffer", retry_after=20.0, namespace=namespace)


@dataclass
class Stack:
    """A queue with its worker, and maintenance once a minute; everything by one clock."""

    rows: UnfinishedWorkStore
    sql: psycopg.Connection
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    pages: Pages = field(init=False)
    queue: WorkedQueue = field(init=False)

    def __post_init__(self) -> None:
        self.pages = Pages(self.sqs)
        self.queue = WorkedQueue(self.pages, self.rows, self.sqs)

    def loses_supabase(self, *, away: bool) -> None:
        self.pages.supabase_away = away
        self.queue.unfinished = NOWHERE if away else self.rows

    def step(self, minutes: int = 1) -> int:
        """Lets minutes pass, with maintenance and deliveries at their end; how often the vendor was asked."""
        before = self.pages.asked
        self.sqs.passes(60 * minutes)
        work_ages(self.sql, 60 * minutes)
        if not self.pages.supabase_away:
            ResumeWork(self.rows, {"queue": SqsQueue(self.sqs, "queue")}, limit=A_MINUTE)()
        self.queue.deliver_waiting()
        return self.pages.asked - before

    def steps(self, count: int, *, minutes: int = 1, until: Callable[[], bool] = lambda: False) -> list[int]:
        """The same, so often; how often the vendor was asked in each step."""
        asked = []
        for _ in range(count):
            if until():
                break
            asked.append(self.step(minutes))
        return asked

    def states(self) -> dict[str, int]:
        """How much work is in each state that there is."""
        return {state: number for state, number in self.rows.counts().states.items() if number}

    @property
    def dead(self) -> list[str]:
        return [json.loads(letter.body)["recheck"]["key"] for letter in self.sqs.dead]


@pytest.fixture
def stack(empty_database: Database, unfinished: UnfinishedWorkStore) -> Iterator[Stack]:
    with psycopg.connect(empty_database.dsn_postgres, autocommit=True) as sql:
        stack = Stack(unfinished, sql)
        MaterialQueue(SqsQueue(stack.sqs, "queue")).recheck([f"{page:02}.html" for page in range(PAGES)], reason="new")
        yield stack


def is_all_done(stack: Stack) -> bool:
    return len(stack.pages.done) == PAGES


def test_hours_without_openai_make_no_dead_letters_and_few_calls(stack: Stack) -> None:
    stack.pages.vendor_away = True
    stack.steps(30)
    # One may be on its way as a probe.
    assert stack.states().get("waiting", 0) >= PAGES - 1
    asked = sum(stack.steps(60, minutes=2))
    # A probe every seven and a half minutes at most, delivered four times by its queue.
    assert 10 <= asked <= 120 / 7.5 * 4
    assert (stack.dead, stack.pages.gave_up) == ([], [])
    assert len(stack.sqs.messages) <= 1
    assert stack.rows.counts().oldest_waiting_seconds > 2 * 3600


def test_after_an_outage_everything_is_done_in_half_an_hour_in_portions(stack: Stack) -> None:
    stack.pages.vendor_away = True
    stack.steps(30)
    stack.pages.vendor_away = False
    asked = stack.steps(30, until=lambda: is_all_done(stack))
    assert max(asked) <= A_MINUTE
    assert is_all_done(stack)
    assert (stack.dead, stack.states()) == ([], {})


def test_a_weekend_with_a_wrong_key_makes_no_dead_letters(stack: Stack) -> None:
    stack.pages.key_refused = True
    # Sixty hours.
    stack.steps(45, minutes=80)
    assert (stack.dead, stack.pages.done) == ([], set())
    # Each message once, then a probe a time.
    assert stack.pages.asked <= PAGES + 45
    assert {row.reason for row in stack.rows.rows(state="waiting")} == {
        "The embedding service refused with 401: check openai_api_key; this waits for openai and continues "
        "automatically after the correction"
    }
    stack.pages.key_refused = False
    stack.steps(40, until=lambda: is_all_done(stack))
    assert (is_all_done(stack), stack.dead, stack.states()) == (True, [], {})


def test_a_page_that_is_always_refused_is_a_dead_letter_in_the_end_and_stops_no_other(stack: Stack) -> None:
    stack.pages.poison = "07.html"
    stack.steps(15)
    assert (len(stack.pages.done), stack.states(), stack.dead) == (PAGES - 1, {"waiting": 1}, [])
    # Twenty days, in case somebody only has to correct the key.
    stack.steps(20 * 3, minutes=480)
    assert stack.dead == []
    stack.steps(60, until=lambda: bool(stack.dead))
    assert stack.dead == stack.pages.gave_up == ["07.html"]
    (row,) = stack.rows.rows()
    assert (row.state, row.reason) == ("failed", "The embedding service refused with 401: check openai_api_key")
    assert stack.pages.done == {f"{page:02}.html" for page in range(PAGES)} - {"07.html"}


@pytest.mark.parametrize("vendor_away", [False, True])
def test_hours_without_supabase_make_no_dead_letters_and_lose_nothing(stack: Stack, vendor_away: bool) -> None:
    stack.loses_supabase(away=True)
    stack.pages.vendor_away = vendor_away
    stack.steps(40)
    assert (stack.dead, stack.pages.done, stack.pages.gave_up) == ([], set(), [])
    # Copies wait in the queue, and each comes back every quarter of an hour.
    assert len(stack.sqs.messages) == PAGES
    assert all("copies" in message.attributes for message in stack.sqs.messages)
    stack.loses_supabase(away=False)
    stack.steps(20)
    stack.pages.vendor_away = False
    stack.steps(60, until=lambda: is_all_done(stack))
    assert (is_all_done(stack), stack.dead) == (True, [])


def test_one_hot_namespace_stops_no_other_tenant(stack: Stack) -> None:
    stack.pages.shares_a_circuit = True
    stack.pages.hot = lambda page: page < f"{PAGES // 2:02}.html"
    stack.step()
    assert stack.pages.done == {f"{page:02}.html" for page in range(PAGES // 2, PAGES)}
    stack.steps(10)
    assert stack.states().keys() <= {"waiting", "retrying"}
    assert {row.vendor for row in stack.rows.rows(state="waiting")} <= {None}
    assert (stack.dead, stack.pages.circuit.failures) == ([], 0)
    # Somebody else's work does not wait behind it.
    MaterialQueue(SqsQueue(stack.sqs, "queue")).recheck(["new.html"], reason="new")
    stack.step()
    assert "new.html" in stack.pages.done
    stack.pages.is_cold = True
    stack.steps(30, until=lambda: len(stack.pages.done) == PAGES + 1)
    assert (len(stack.pages.done), stack.dead) == (PAGES + 1, [])
