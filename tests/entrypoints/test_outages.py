"""Hours without a vendor, minute by minute: no dead letter, no stampede, and all of it done soon after."""

import io
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.domain.work import MAX_TRIES, WORK_ATTRIBUTE, About, DueWork
from sakuin.entrypoints.sqs import Handler, queue_handler
from sakuin.errors import Refused, Unavailable
from sakuin.services.send_due_work import SendDueWork
from sakuin.services.work_in_hand import WorkInHand

from tests.entrypoints.events import Context, event
from tests.in_memory.work import MemoryWork, MemoryWorkQueues

PAGES = 60
A_MINUTE = 20


@dataclass(frozen=True, slots=True)
class Message:
    """A message in its queue. `visible` is when it is given out."""

    id: str
    body: str
    work_id: str
    visible: float
    tries: int = 0


@dataclass
class House:
    """A queue with its reader, and maintenance once a minute; everything by one clock."""

    rows: MemoryWork = field(default_factory=MemoryWork)
    vendor_away: bool = False
    key_refused: bool = False
    poison: int | None = None
    queue: dict[str, Message] = field(default_factory=dict)
    dead: list[Message] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    asked: int = 0
    names: Any = field(default_factory=itertools.count)
    handler: Handler = field(init=False)

    def __post_init__(self) -> None:
        self.handler = self._handler()

    def send(self, body: str, work_id: str | None = None, delay: float = 0) -> None:
        name = f"m{next(self.names)}"
        self.queue[name] = Message(name, body, work_id or name, self.rows.now + delay)

    def minute(self) -> int:
        """What a minute brings; how often the vendor was asked."""
        self.rows.now += 60
        before = self.asked
        queues = MemoryWorkQueues()
        if not self.rows.down:
            SendDueWork(self.rows, queues, lambda *_: pytest.fail("nobody died"), A_MINUTE)()
        self._sent(queues.sent)
        due = [one for one in self.queue.values() if one.visible <= self.rows.now]
        for message in due[:A_MINUTE]:
            self._deliver(message)
        return self.asked - before

    def _sent(self, work: list[DueWork]) -> None:
        for one in work:
            self.send(one.body, one.id)

    def _deliver(self, message: Message) -> None:
        if message.tries == MAX_TRIES:
            self.dead.append(self.queue.pop(message.id))
            return
        self.queue[message.id] = replace(message, tries=message.tries + 1, visible=self.rows.now + 720)
        record = event("embed_chunks.batch")["Records"][0] | {"messageId": message.id, "receiptHandle": message.id}
        record["attributes"] |= {"ApproximateReceiveCount": str(message.tries + 1), "SentTimestamp": "1000"}
        record |= {"body": message.body, "messageAttributes": {WORK_ATTRIBUTE: {"stringValue": message.work_id}}}
        if not self.handler({"Records": [record]}, Context())["batchItemFailures"]:
            self.queue.pop(message.id, None)

    def _handler(self) -> Handler:
        return queue_handler(
            self._work,
            self._postpone,
            Logger(service="outage", stream=io.StringIO()),
            Metrics(namespace="Sakuin", service="outage"),
            Tracer(disabled=True),
            about=lambda body: About(body),
            hold=lambda taken: WorkInHand(self.rows, taken, lambda _problem: None),
            send_again=lambda body, work_id, seconds: self.send(body, work_id, seconds),
        )

    def _work(self, body: str) -> None:
        if self.rows.down:
            raise Unavailable("Supabase did not answer", vendor="supabase")
        self.asked += 1
        if self.vendor_away:
            raise Unavailable("The embedding service did not answer", vendor="openai")
        if self.key_refused or json.loads(body) == self.poison:
            raise Refused("The embedding service refused with 401: check openai_api_key", vendor="openai")
        self.done.add(json.loads(body))

    def _postpone(self, handle: str, seconds: int) -> None:
        self.queue[handle] = replace(self.queue[handle], visible=self.rows.now + seconds)


@pytest.fixture
def house() -> House:
    house = House()
    for number in range(PAGES):
        house.send(json.dumps(number))
    return house


def minutes(house: House, count: int, until: Callable[[], bool] = lambda: False) -> int:
    """Lets time pass; how many minutes that took."""
    return next((number for number in range(count) if until() or house.minute() < 0), count)


def test_six_hours_without_openai_fill_no_dead_letters_and_it_is_hardly_asked(house: House) -> None:
    house.vendor_away = True
    minutes(house, 60)
    # One is on its way as a probe, now and then.
    assert len(house.rows.rows(state="parked")) >= PAGES - 1
    before = house.asked
    minutes(house, 300)
    # A probe every quarter of an hour at the longest, with its three hasty tries.
    assert house.asked - before <= 300 / 7.5 * 4
    assert house.dead == []
    assert len(house.queue) <= 1
    assert house.rows.counts().oldest_parked_seconds > 5 * 3600


def test_once_it_is_back_everything_is_done_within_half_an_hour_and_never_all_at_once(house: House) -> None:
    house.vendor_away = True
    minutes(house, 120)
    house.vendor_away = False
    asked = [house.minute() for _ in range(30)]
    assert max(asked) <= A_MINUTE
    assert (len(house.done), house.dead, house.rows.table) == (PAGES, [], {})


def test_a_weekend_with_a_wrong_key_fills_no_dead_letters_and_once_it_is_right_everything_is_done(
    house: House,
) -> None:
    house.key_refused = True
    minutes(house, 60 * 60)
    assert (house.dead, house.done) == ([], set())
    # Each message once, then a probe every quarter of an hour, sooner in the first hour.
    assert house.asked <= PAGES + 60 * 8 + 20
    assert {row.reason for row in house.rows.rows(state="parked")} == {
        "The embedding service refused with 401: check openai_api_key; this waits for openai and goes on by itself "
        "once that is mended"
    }
    house.key_refused = False
    minutes(house, 40)
    assert (len(house.done), house.dead, house.rows.table) == (PAGES, [], {})


def test_one_message_that_is_always_refused_does_not_stop_its_neighbours_and_dies_in_the_end(house: House) -> None:
    house.poison = 7
    minutes(house, 60)
    assert (len(house.done), len(house.rows.rows(state="parked")), house.dead) == (PAGES - 1, 1, [])
    minutes(house, 60 * 24 * 40, until=lambda: bool(house.dead))
    assert [json.loads(letter.body) for letter in house.dead] == [7]


def test_hours_without_supabase_fill_no_dead_letters_and_lose_nothing(house: House) -> None:
    house.rows.down = True
    minutes(house, 120)
    assert (house.dead, house.done) == ([], set())
    house.rows.down = False
    minutes(house, 60, until=lambda: len(house.done) == PAGES)
    assert (len(house.done), house.dead) == (PAGES, [])
