"""Outcomes of a message: done, delivered again, waiting as a row, copied, or a dead letter."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger, Metrics
from botocore.exceptions import EndpointConnectionError
from sakuin.errors import CircuitOpen, Invalid, OutOfTime, OverBudget, RateLimited, SakuinError, Unavailable
from sakuin.platform.queue_handler import LEASE_SECONDS, RESUMED, QueueHandler
from sakuin.platform.retry import MAX_FAILURES, MAX_RECEIVES
from sakuin.platform.supabase.client import connected
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.unfinished_work import LeasedMessage, UnfinishedWork, UnfinishedWorkStore, WorkSubject
from sakuin_local.supabase.database import Database

from tests.convergence.passing import time_passes_in
from tests.doubles.sqs import VISIBILITY_SECONDS, ModelledSqs, worked_on
from tests.events import Context

EACH_DELIVERY = range(1, MAX_FAILURES + 1)
A_DAY = 86_400
BODY = '{"asked": "a page"}'
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Request:
    """A plain request."""

    asked: str
    subject: WorkSubject


class Killed(BaseException):
    """The worker is gone."""


@dataclass
class Work:
    """A `QueueWork` that fails with `error` unless it is None."""

    error: BaseException | None = None
    finishes_itself: bool = True
    asks_vendors: bool = True
    processed: list[str] = field(default_factory=list)
    gave_up: list[tuple[str, str]] = field(default_factory=list)
    during: Callable[[], None] = lambda: None
    giving_up: SakuinError | None = None

    def read(self, message: Mapping[str, Any]) -> Request | None:
        if "asked" not in message:
            raise Invalid("The message is not one that this queue takes")
        asked: str | None = message["asked"]
        how = {"asks_vendors": self.asks_vendors, "finishes_itself": self.finishes_itself}
        return None if asked is None else Request(asked, WorkSubject("file", asked, **how))

    def process(self, request: Request) -> None:
        self.processed.append(request.asked)
        self.during()
        if self.error is not None:
            raise self.error

    def give_up(self, request: Request, reason: str) -> None:
        if self.giving_up is not None:
            raise self.giving_up
        self.gave_up.append((request.asked, reason))


@dataclass
class Queue:
    """A queue with its worker. `rows` is the store on Postgres; the worker's own may be one that does not answer."""

    rows: UnfinishedWorkStore
    store: UnfinishedWorkStore
    dsn: str
    work: Work = field(default_factory=Work)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    client: Any = None
    current: CurrentWork = field(default_factory=CurrentWork)
    log: io.StringIO = field(default_factory=io.StringIO)
    lease_seconds: int = LEASE_SECONDS

    def loses_supabase(self) -> None:
        self.store = UnfinishedWorkStore(connected(NOWHERE, "key", seconds=2))

    def send(self, body: str = BODY, **attributes: str) -> None:
        named = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        self.sqs.send_message(QueueUrl="queue", MessageBody=body, MessageAttributes=named)

    def handle(self, *records: Mapping[str, Any]) -> list[str]:
        """Calls the handler; returns the ids of failed messages."""
        # A logger is kept by its name, with its first stream.
        logger = Logger(service=f"queue-{uuid4()}", stream=self.log)
        metrics = Metrics(namespace="Sakuin", service="test")
        sqs = worked_on(self.client or self.sqs, "queue")
        handler = QueueHandler(
            sqs, self.work, self.store, logger, metrics, self.current, lease_seconds=self.lease_seconds
        )
        answer = handler.handle({"Records": records}, Context())
        if metrics.metric_set:
            metrics.flush_metrics()
        assert answer.keys() == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def deliver(self, *, receives: int = 1, body: str = BODY, **attributes: str) -> bool:
        """Delivers a new message for the `receives`th time; returns whether it is done."""
        self.send(body, **attributes)
        message = self.sqs.messages[-1]
        message.receives = receives - 1
        message = self.sqs.receive(self.sqs.waiting.index(message))
        done = not self.handle(message.as_record())
        if done:
            self.sqs.delete(message.id)
        return done

    @property
    def hidden(self) -> list[float]:
        """Returns for how many seconds each remaining message is hidden."""
        return [message.visible_at - self.sqs.now for message in self.sqs.messages]

    @property
    def row(self) -> UnfinishedWork:
        (found,) = self.rows.rows()
        return found

    @property
    def warnings(self) -> list[str]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line["message"] for line in lines if line["level"] == "WARNING"]


@pytest.fixture
def queue(empty_database: Database) -> Queue:
    rows = UnfinishedWorkStore(connected(empty_database.rest_url, empty_database.service_key, seconds=2))
    return Queue(rows, rows, empty_database.dsn_postgres)


# ---------------------------------------------------------------- messages that are done


def test_a_message_that_is_done_leaves_its_queue_and_asks_postgres_for_nothing(queue: Queue) -> None:
    queue.loses_supabase()
    assert queue.deliver()
    # A message that asks for nothing is done, too.
    assert queue.deliver(body='{"asked": null}')
    assert (queue.work.processed, queue.sqs.messages, queue.warnings) == (["a page"], [], [])


@pytest.mark.parametrize(
    ("finishes_itself", "delivery"),
    # The last: its dead letter was sent again.
    [(True, {"receives": 2}), (True, {"copies": "1"}), (True, RESUMED), (False, {})],
)
def test_finished_work_has_no_row_of_failures(queue: Queue, finishes_itself: bool, delivery: dict[str, Any]) -> None:
    queue.work.finishes_itself = finishes_itself
    queue.rows.record_dead_letter(WorkSubject("file", "a page"), "it failed")
    assert queue.deliver(**delivery)
    assert queue.rows.rows() == []


def test_a_message_is_done_although_its_end_cannot_be_recorded(queue: Queue) -> None:
    queue.loses_supabase()
    assert queue.deliver(receives=2)
    assert queue.warnings == ["finished work is not recorded"]


# ---------------------------------------------------------------- messages that fail


@pytest.mark.parametrize("body", ["", "not JSON", "[]", "null", "5", '"text"', "[" * 100_000, "{}"])
def test_a_message_that_cannot_be_read_is_a_dead_letter_at_once_with_the_reason(queue: Queue, body: str) -> None:
    assert queue.deliver(body=body, correlation_id="r1")
    assert (queue.work.processed, queue.work.gave_up, queue.rows.rows()) == ([], [], [])
    (letter,) = queue.sqs.dead
    assert (letter.queue, letter.body) == ("queue", body)
    attributes = {name: value["StringValue"] for name, value in letter.attributes.items()}
    assert attributes.pop("ERROR_MESSAGE").startswith("The message is not ")
    assert attributes == {"correlation_id": "r1", "RETRY_ATTEMPTS": "1"}


def test_a_message_that_cannot_be_read_is_delivered_again_if_its_dead_letter_is_not_sent(queue: Queue) -> None:
    queue.client = Closed(queue.sqs)
    assert not queue.deliver(body="{}")
    assert len(queue.sqs.messages) == 1


def test_an_event_of_several_messages_fails_whole_and_none_is_worked_on(queue: Queue) -> None:
    for _ in range(2):
        queue.send()
    records = [queue.sqs.receive(0).as_record() for _ in range(2)]
    assert queue.handle(*records) == ["m1", "m2"]
    assert queue.work.processed == []
    assert "set BatchSize to 1" in queue.log.getvalue()


def test_a_failure_before_the_last_is_recorded_and_its_message_comes_back(queue: Queue) -> None:
    queue.work.error = Unavailable("The vendor did not answer", vendor="openai")
    assert not queue.deliver(receives=2)
    row, reason = queue.row, "The vendor did not answer"
    assert (row.subject, row.state, row.reason, row.vendor) == ("a page", "retrying", reason, "openai")
    assert (queue.hidden, queue.work.gave_up) == ([30], [])


def test_the_last_failure_is_recorded_and_the_message_is_a_dead_letter_at_once(queue: Queue) -> None:
    queue.work.error = Invalid("The page is poison")
    assert queue.deliver(receives=MAX_FAILURES)
    assert (queue.row.state, queue.row.reason) == ("failed", "The page is poison")
    assert queue.work.gave_up == [("a page", "The page is poison")]
    (letter,) = queue.sqs.dead
    assert (letter.body, letter.attributes["ERROR_MESSAGE"]["StringValue"]) == (BODY, "The page is poison")
    assert queue.sqs.messages == []


def test_a_worker_killed_by_the_last_delivery_leaves_a_reason(queue: Queue) -> None:
    queue.work.error = Killed()
    for receives in (1, MAX_RECEIVES):
        with pytest.raises(Killed):
            queue.deliver(receives=receives)
    assert queue.row.state == "failed"
    assert queue.row.reason.startswith("The worker ended without an answer")


def test_a_message_in_long_work_is_recorded_and_after_its_worker_was_killed_known_to_have_none(queue: Queue) -> None:
    leases: list[LeasedMessage] = []

    def wait_until_recorded() -> None:
        while not leases:
            leases.extend(queue.rows.leases())

    queue.lease_seconds, queue.work.during, queue.work.error = 1, wait_until_recorded, Killed()
    with pytest.raises(Killed):
        queue.deliver()
    (lease,) = leases
    assert (lease.queue, lease.body) == ("queue", BODY)
    time_passes_in(queue.dsn, 60)
    assert [lease.is_over for lease in queue.rows.leases()] == [True]
    # Its next delivery ends the record, although it is short itself.
    queue.work.during, queue.work.error = lambda: None, None
    queue.sqs.passes(60)
    assert queue.handle(queue.sqs.receive(0).as_record()) == []
    assert queue.rows.leases() == []


def test_a_failure_while_giving_up_does_not_change_the_answer_to_the_queue(queue: Queue) -> None:
    queue.work.error = Invalid("The page is poison")
    queue.work.giving_up = Unavailable("Supabase did not answer", vendor="supabase")
    assert queue.deliver(receives=MAX_FAILURES)
    assert (queue.row.state, len(queue.sqs.dead)) == ("failed", 1)


def test_a_message_returns_after_the_queue_s_time_without_sqs(queue: Queue) -> None:
    queue.client = Closed(queue.sqs)
    queue.work.error = Invalid("It is wrong")
    assert not queue.deliver()
    assert queue.hidden == [VISIBILITY_SECONDS]
    assert queue.warnings == ["the retry delay is not set; the visibility timeout applies"]


# ---------------------------------------------------------------- messages that wait


def test_over_the_budget_the_work_waits_as_a_row_and_leaves_the_queue(queue: Queue) -> None:
    queue.work.error = OverBudget("The day's tokens are used up")
    assert queue.deliver(receives=MAX_FAILURES)
    assert (queue.row.state, queue.row.reason, queue.row.vendor) == ("waiting", "The day's tokens are used up", None)
    assert (queue.sqs.messages, queue.work.gave_up) == ([], [])


# ---------------------------------------------------------------- messages that a vendor asks to wait


def test_a_rate_limit_uses_up_no_delivery_and_leaves_no_failure(queue: Queue) -> None:
    queue.work.error = RateLimited("embeddings", vendor="openai", retry_after=70)
    queue.send()
    for _ in range(20):
        message = queue.sqs.receive(0)
        assert (queue.handle(message.as_record()), message.receives, queue.hidden[1:]) == ([], 1, [70])
        queue.sqs.delete(message.id)
        row = queue.row
        assert (row.state, row.reason, row.vendor, row.attempts) == (
            "retrying",
            "Waiting for embeddings, about 2 minutes",
            None,
            0,
        )
        queue.sqs.until_next()
    queue.work.error = None
    message = queue.sqs.receive(0)
    assert (queue.handle(message.as_record()), queue.rows.rows(), queue.work.gave_up) == ([], [], [])


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("embeddings", vendor="openai", retry_after=70),
        OutOfTime("No time"),
        CircuitOpen("openai keeps failing", vendor="openai"),
    ],
)
def test_work_that_waits_for_days_becomes_a_dead_letter(queue: Queue, error: SakuinError) -> None:
    queue.work.error = error
    assert queue.deliver()
    time_passes_in(queue.dsn, 2 * A_DAY + 60)
    assert [queue.deliver(receives=receives) for receives in EACH_DELIVERY] == [False] * 4 + [True]
    assert (queue.row.state, queue.work.gave_up) == ("failed", [("a page", str(error))])


# ---------------------------------------------------------------- messages that wait while Postgres is away


@pytest.mark.parametrize("receives", EACH_DELIVERY)
def test_where_no_row_can_be_written_a_copy_of_the_message_waits_in_its_queue(queue: Queue, receives: int) -> None:
    queue.loses_supabase()
    queue.work.error = OverBudget("The day's tokens are used up")
    assert queue.deliver(receives=receives, correlation_id="r1")
    (copy,) = queue.sqs.messages
    assert (copy.body, copy.receives) == (BODY, 0)
    assert {name: value["StringValue"] for name, value in copy.attributes.items()} == {
        "correlation_id": "r1",
        "copies": "1",
    }
    assert 60 <= queue.hidden[0] <= 900


def test_copies_wait_longer_and_longer_up_to_a_quarter_of_an_hour(queue: Queue) -> None:
    queue.loses_supabase()
    queue.work.error = CircuitOpen("openai keeps failing", vendor="openai")
    queue.send()
    waits = []
    for _ in range(30):
        message = queue.sqs.receive(0)
        assert queue.handle(message.as_record()) == []
        queue.sqs.delete(message.id)
        waits += queue.hidden
        queue.sqs.until_next()
    assert waits == sorted(waits)
    assert (waits[:3], waits[-1]) == ([60, 90, 135], 900)


def test_an_outage_of_postgres_does_not_use_up_deliveries(queue: Queue) -> None:
    queue.loses_supabase()
    queue.work.error = Unavailable("Supabase did not answer", vendor="supabase")
    assert [queue.deliver(receives=receives) for receives in EACH_DELIVERY] == [False, False, False, True, True]
    assert queue.work.gave_up == []


@dataclass
class Closed:
    """SQS, which takes no requests."""

    real: ModelledSqs

    def __getattr__(self, name: str) -> Any:
        raise EndpointConnectionError(endpoint_url="https://sqs")


def test_a_message_stays_in_its_queue_without_postgres_and_sqs(queue: Queue) -> None:
    queue.loses_supabase()
    queue.client = Closed(queue.sqs)
    queue.work.error = Unavailable("The vendor did not answer", vendor="openai")
    assert not queue.deliver(receives=MAX_FAILURES - 1)
    assert queue.hidden == [VISIBILITY_SECONDS]


# ---------------------------------------------------------------- what is counted and logged


@pytest.mark.parametrize(
    ("error", "metric"),
    [
        (OverBudget("The day's tokens are used up"), "WorkOverBudget"),
        (OutOfTime("There was no time"), "WorkDeferred"),
        (RateLimited("embeddings", vendor="openai", retry_after=70), "WorkDeferred"),
        (CircuitOpen("openai is not asked", vendor="openai"), "WorkDeferred"),
        (Invalid("It is wrong"), "MessagesFailed"),
    ],
)
def test_work_that_waits_is_counted_as_that_and_not_as_failed(
    queue: Queue, capsys: pytest.CaptureFixture[str], error: Exception, metric: str
) -> None:
    queue.work.error = error
    queue.deliver()
    metrics = next(json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line)
    assert metrics[metric] == [1]
    assert not {"MessagesFailed", "WorkOverBudget", "WorkDeferred"} - {metric} & metrics.keys()
    assert metrics["MessageWaitedMilliseconds"][0] >= 0


def test_a_line_about_a_message_names_the_message_and_whose_work_it_is(queue: Queue) -> None:
    queue.work.error = OverBudget("The day's tokens are used up")
    queue.deliver(correlation_id="r1")
    (line,) = [json.loads(line) for line in queue.log.getvalue().splitlines()]
    assert (line["message"], line["level"], line["reason"]) == (
        "work deferred",
        "WARNING",
        "The day's tokens are used up",
    )
    assert line["correlation_id"] == queue.current() == "r1"
    assert line["message_id"] == "m1"
