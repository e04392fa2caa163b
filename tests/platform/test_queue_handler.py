"""Outcomes of a message: done, waiting as a copy, or a dead letter; and what its row says of it."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger, Metrics
from botocore.exceptions import EndpointConnectionError
from sakuin.errors import CircuitOpen, Invalid, OutOfTime, OverBudget, RateLimited, SakuinError, Unavailable
from sakuin.platform.queue_handler import QueueHandler
from sakuin.platform.retry import MAX_FAILURES, MAX_RECEIVES, Waiting
from sakuin.platform.supabase.client import connected
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin_local.supabase.database import Database

from tests.doubles.sqs import VISIBILITY_SECONDS, ModelledSqs, worked_on
from tests.events import Context
from tests.worked_queue import Killed

A_DAY, AN_HOUR = 86_400, 3600
BODY = '{"asked": "a page"}'
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Work:
    """A `QueueWork` about pages that fails with `error` unless it is None."""

    error: BaseException | None = None
    is_requested: bool = False
    processed: list[str] = field(default_factory=list)
    gave_up: list[tuple[str, str]] = field(default_factory=list)
    giving_up: SakuinError | None = None

    def read(self, message: Mapping[str, Any]) -> str | None:
        if "asked" not in message:
            raise Invalid("The message is not one that this queue takes")
        asked: str | None = message["asked"]
        return asked

    def row_of(self, request: str) -> WorkRow:
        source = {"bucket": "b", "key": f"{request}.html"}
        return WorkRow("page", request, source=source, is_requested=self.is_requested)

    def process(self, request: str, record: Mapping[str, Any] | None) -> None:
        self.processed.append(request)
        if self.error is not None:
            raise self.error

    def give_up(self, request: str, reason: str) -> None:
        if self.giving_up is not None:
            raise self.giving_up
        self.gave_up.append((request, reason))


@dataclass
class Queue:
    """A queue with its worker. `rows` are those of Postgres; the worker's own store may be one that does not answer."""

    rows: WorkRecords
    store: WorkRecords
    work: Work = field(default_factory=Work)
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    client: Any = None
    current: CurrentWork = field(default_factory=CurrentWork)
    log: io.StringIO = field(default_factory=io.StringIO)

    def loses_supabase(self) -> None:
        self.store = WorkRecords(connected(NOWHERE, "key", seconds=2))

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
            sqs, self.work, self.store, logger, metrics, self.current, clock=lambda: self.sqs.now, jitter=lambda: 1.0
        )
        answer = handler.handle({"Records": records}, Context())
        if metrics.metric_set:
            metrics.flush_metrics()
        assert answer.keys() == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def deliver(self, body: str = BODY, **attributes: str) -> bool:
        """Delivers a new message; returns whether it is done."""
        self.send(body, **attributes)
        return self.deliver_next()

    def deliver_next(self) -> bool:
        """Delivers the next message, when it is visible; returns whether it is done."""
        self.sqs.until_next()
        message = self.sqs.receive(0)
        done = not self.handle(message.as_record())
        if done:
            self.sqs.delete(message.id)
        return done

    @property
    def hidden(self) -> list[float]:
        """Returns for how many seconds each remaining message is hidden."""
        return [round(message.visible_at - self.sqs.now) for message in self.sqs.messages]

    @property
    def row(self) -> Waiting | None:
        return next(iter(self.rows.waiting(limit=1).rows), None)

    @property
    def warnings(self) -> list[str]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line["message"] for line in lines if line["level"] == "WARNING"]


@pytest.fixture
def queue(empty_database: Database) -> Queue:
    rows = WorkRecords(connected(empty_database.rest_url, empty_database.service_key, seconds=2))
    return Queue(rows, rows)


# ---------------------------------------------------------------- messages that are done


def test_a_message_that_is_done_leaves_its_queue(queue: Queue) -> None:
    assert queue.deliver()
    # A message that asks for nothing is done, too.
    assert queue.deliver('{"asked": null}')
    assert (queue.work.processed, queue.sqs.messages, queue.warnings, queue.row) == (["a page"], [], [], None)


@pytest.mark.parametrize("is_requested", [False, True])
def test_a_row_says_that_its_message_waits_until_the_message_is_done(queue: Queue, is_requested: bool) -> None:
    queue.work.is_requested = is_requested
    queue.work.error = CircuitOpen("openai keeps failing", vendor="openai", retry_after=20)
    queue.deliver()
    row = queue.row
    assert row is not None
    reason = "openai keeps failing; this waits for openai and continues automatically"
    assert (row.kind, row.subject, row.reason, row.vendor) == ("page", "a page", reason, "openai")
    queue.work.error = None
    assert queue.deliver_next()
    assert (queue.row, queue.work.gave_up) == (None, [])


def test_a_message_is_done_although_its_end_cannot_be_recorded(queue: Queue) -> None:
    queue.work.error = OutOfTime("no time")
    queue.deliver()
    queue.work.error = None
    queue.store = Unfinishing(queue.rows.client)
    assert queue.deliver_next()
    assert queue.warnings[-1] == "finished work is not recorded"


class Unfinishing(WorkRecords):
    """Records whose database goes away before the end."""

    def finish(self, row: WorkRow) -> None:
        raise Unavailable("Supabase did not answer", vendor="supabase")


# ---------------------------------------------------------------- messages that fail


@pytest.mark.parametrize("body", ["", "not JSON", "[]", "null", "5", '"text"', "[" * 100_000, "{}"])
def test_a_message_that_cannot_be_read_is_a_dead_letter_at_once_with_the_reason(queue: Queue, body: str) -> None:
    assert queue.deliver(body, correlation_id="r1")
    assert (queue.work.processed, queue.work.gave_up, queue.row) == ([], [], None)
    (letter,) = queue.sqs.dead
    assert (letter.queue, letter.body) == ("queue", body)
    attributes = {name: value["StringValue"] for name, value in letter.attributes.items()}
    assert letter.why.startswith("The message is not ")
    assert attributes.pop("ERROR_MESSAGE")
    assert attributes == {"correlation_id": "r1", "RETRY_ATTEMPTS": "1"}


def test_a_message_that_cannot_be_read_is_delivered_again_if_its_dead_letter_is_not_sent(queue: Queue) -> None:
    queue.client = Closed(queue.sqs)
    assert not queue.deliver("{}")
    assert len(queue.sqs.messages) == 1


def test_an_event_of_several_messages_fails_whole_and_none_is_worked_on(queue: Queue) -> None:
    for _ in range(2):
        queue.send()
    records = [queue.sqs.receive(0).as_record() for _ in range(2)]
    assert queue.handle(*records) == ["m1", "m2"]
    assert queue.work.processed == []
    assert "set BatchSize to 1" in queue.log.getvalue()


def test_work_that_fails_is_tried_five_times_and_then_a_dead_letter_with_its_reason(queue: Queue) -> None:
    queue.work.error = Invalid("The page is poison")
    queue.deliver()
    pauses = [*queue.hidden]
    while queue.sqs.messages:
        row = queue.row
        assert row is not None
        assert row.reason == "The page is poison"
        assert queue.deliver_next()
        pauses += queue.hidden
    assert (pauses, len(queue.work.processed)) == ([5, 30, 60, 60], MAX_FAILURES)
    assert (queue.work.gave_up, queue.row) == ([("a page", "The page is poison")], None)
    (letter,) = queue.sqs.dead
    attributes = {name: value["StringValue"] for name, value in letter.attributes.items()}
    assert (letter.body, letter.why, attributes["RETRY_ATTEMPTS"]) == (BODY, "The page is poison", "5")


def test_a_worker_that_dies_at_each_attempt_makes_a_dead_letter_after_five(queue: Queue) -> None:
    queue.work.error = Killed()
    queue.send()
    for _ in range(MAX_FAILURES):
        with pytest.raises(Killed):
            queue.deliver_next()
        assert queue.hidden == [VISIBILITY_SECONDS]
    assert queue.deliver_next()
    assert len(queue.work.processed) == MAX_FAILURES
    ((page, reason),) = queue.work.gave_up
    assert (page, reason.startswith("The worker ended without an answer")) == ("a page", True)
    (letter,) = queue.sqs.dead
    assert letter.why == reason


def test_attempts_that_ended_by_themselves_and_those_of_other_messages_are_no_deaths(queue: Queue) -> None:
    for _ in range(2 * MAX_FAILURES):
        assert queue.deliver()
    queue.work.error = OutOfTime("no time")
    queue.deliver()
    for _ in range(2 * MAX_FAILURES):
        assert queue.deliver_next()
    for error, count in ((Killed(), MAX_FAILURES - 1), (None, 1)):
        queue.work.error = error
        for _ in range(count):
            if error is None:
                assert queue.deliver_next()
                continue
            with pytest.raises(Killed):
                queue.deliver_next()
    assert (queue.work.gave_up, queue.sqs.dead, queue.sqs.messages) == ([], [], [])


def test_an_hour_without_free_executions_makes_no_dead_letter(queue: Queue) -> None:
    queue.send()
    # Lambda receives each message, and cannot start a worker.
    until = queue.sqs.now + AN_HOUR
    while queue.sqs.now < until:
        queue.sqs.until_next()
        queue.sqs.receive(0)
    assert AN_HOUR / VISIBILITY_SECONDS < MAX_RECEIVES / 10
    assert queue.deliver_next()
    assert (queue.work.processed, queue.sqs.dead) == (["a page"], [])


def test_a_failure_while_giving_up_does_not_change_the_answer_to_the_queue(queue: Queue) -> None:
    queue.work.error = Invalid("The page is poison")
    queue.work.giving_up = Unavailable("Supabase did not answer", vendor="supabase")
    assert queue.deliver(failures="4")
    assert len(queue.sqs.dead) == 1


# ---------------------------------------------------------------- messages that wait


def test_work_that_waits_for_days_becomes_a_dead_letter(queue: Queue) -> None:
    queue.work.error = CircuitOpen("openai keeps failing", vendor="openai")
    assert queue.deliver()
    queue.sqs.passes(2 * A_DAY + 60)
    for _ in range(MAX_FAILURES):
        assert queue.deliver_next()
    assert queue.work.gave_up == [("a page", "openai keeps failing")]
    assert len(queue.sqs.dead) == 1


def test_a_copy_says_since_when_and_why_and_is_a_message_of_its_own(queue: Queue) -> None:
    queue.work.error = OverBudget("The day's tokens are used up")
    sent = queue.sqs.now
    assert queue.deliver(correlation_id="r1")
    (copy,) = queue.sqs.messages
    assert (copy.body, copy.receives, queue.hidden) == (BODY, 0, [600])
    attributes = {name: value["StringValue"] for name, value in copy.attributes.items()}
    assert float(attributes.pop("first_sent")) == pytest.approx(sent, abs=0.01)
    reason = "The day's tokens are used up"
    assert attributes == {"correlation_id": "r1", "first_id": "m1", "reason": reason, "failures": "0"}


@pytest.mark.parametrize("error", [None, Unavailable("The vendor did not answer", vendor="openai")])
def test_without_postgres_a_copy_waits_all_the_same(queue: Queue, error: SakuinError | None) -> None:
    queue.loses_supabase()
    queue.work.error = error
    queue.deliver()
    for _ in range(3 * MAX_FAILURES):
        assert queue.deliver_next()
    assert (queue.sqs.dead, queue.work.processed, queue.work.gave_up) == ([], [], [])
    assert queue.warnings[:2] == ["work waits", "the row does not say that its message waits"]
    queue.store, queue.work.error = queue.rows, None
    assert queue.deliver_next()
    assert (queue.work.processed, queue.sqs.messages) == (["a page"], [])


@dataclass
class Closed:
    """SQS, which takes no requests."""

    real: ModelledSqs

    def __getattr__(self, name: str) -> Any:
        raise EndpointConnectionError(endpoint_url="https://sqs")


def test_a_message_stays_in_its_queue_without_sqs(queue: Queue) -> None:
    queue.client = Closed(queue.sqs)
    queue.work.error = Unavailable("The vendor did not answer", vendor="openai")
    assert not queue.deliver()
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
    assert (line["message"], line["level"], line["reason"]) == ("work waits", "WARNING", "The day's tokens are used up")
    assert line["correlation_id"] == queue.current() == "r1"
    assert line["message_id"] == "m1"
