"""Work that waits, for the next day or for a vendor, never becomes a dead letter of it."""

import io
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.domain.work import MAX_TRIES, WORK_ATTRIBUTE, About
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import queue_handler
from sakuin.errors import CircuitOpen, Invalid, OutOfTime, OverBudget, Unavailable
from sakuin.services.work_in_hand import WorkInHand

from tests.entrypoints.events import Context, event
from tests.in_memory.work import MemoryWork

BODY = event("embed_chunks.batch")["Records"][0]["body"]
NAME = event("embed_chunks.batch")["Records"][0]["messageId"]
ANY_TRY = range(1, MAX_TRIES + 1)


@dataclass
class Queue:
    """What the handler did with its one message, whose work fails with `error` unless it is None."""

    error: Exception | None = field(default_factory=lambda: OverBudget("The day's tokens are used up"))
    rows: MemoryWork = field(default_factory=MemoryWork)
    sqs_away: bool = False
    worked: int = 0
    postponed: list[int] = field(default_factory=list)
    sent: list[tuple[str, str, int]] = field(default_factory=list)
    gave_up: list[tuple[About, str]] = field(default_factory=list)
    work: CurrentWork = field(default_factory=CurrentWork)
    log: io.StringIO = field(default_factory=io.StringIO)

    def deliver(self, *, tries: int = 1, copy_of: str | None = None) -> dict[str, Any]:
        logger = Logger(service=f"waiting-{id(self)}", stream=self.log)
        handler = queue_handler(
            self._work,
            lambda _handle, seconds: self.postponed.append(seconds),
            logger,
            Metrics(namespace="Sakuin", service="test"),
            Tracer(disabled=True),
            queue="embed",
            about=lambda _body: About("a table"),
            hold=lambda taken: WorkInHand(self.rows, taken, logger.warning),
            gave_up=lambda about, reason: self.gave_up.append((about, reason)),
            send_again=self._send_again,
            current=self.work,
        )
        record = event("embed_chunks.batch")["Records"][0]
        record["attributes"]["ApproximateReceiveCount"] = str(tries)
        record["attributes"]["SentTimestamp"] = str(int(self.rows.now * 1000) - 600_000)
        if copy_of is not None:
            record["messageId"] = f"copy of {copy_of}"
            record["messageAttributes"] = {WORK_ATTRIBUTE: {"stringValue": copy_of, "dataType": "String"}}
        return handler({"Records": [record]}, Context())

    def _work(self, _body: str) -> None:
        self.worked += 1
        if self.error is not None:
            raise self.error

    def _send_again(self, body: str, work_id: str, seconds: int) -> None:
        if self.sqs_away:
            raise Unavailable("SQS did not take the request", vendor="sqs")
        self.sent.append((body, work_id, seconds))


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.mark.parametrize("tries", ANY_TRY)
def test_over_the_budget_the_row_has_the_message_until_the_next_day_and_the_queue_no_longer(
    queue: Queue, tries: int
) -> None:
    assert queue.deliver(tries=tries) == {"batchItemFailures": []}
    (row,) = queue.rows.rows()
    assert (row.id, row.state, row.subject, row.reason) == (NAME, "parked", "a table", "The day's tokens are used up")
    assert 0 < queue.rows.table[NAME].until - queue.rows.now <= 86_400
    assert queue.rows.table[NAME].taken.body == BODY
    assert (queue.sent, queue.gave_up, queue.postponed) == ([], [], [])


@pytest.mark.parametrize("tries", [MAX_TRIES - 1, MAX_TRIES])
def test_a_vendor_that_is_away_on_the_last_tries_has_the_message_parked(queue: Queue, tries: int) -> None:
    queue.error = Unavailable("turbopuffer did not answer", vendor="turbopuffer")
    assert queue.deliver(tries=tries) == {"batchItemFailures": []}
    (row,) = queue.rows.rows()
    assert (row.state, row.vendor) == ("parked", "turbopuffer")
    assert queue.gave_up == []


def test_a_vendor_that_is_not_asked_has_the_message_parked_at_once(queue: Queue) -> None:
    queue.error = CircuitOpen("openai is not asked", vendor="openai", retry_after=200)
    assert queue.deliver(tries=1) == {"batchItemFailures": []}
    assert queue.rows.table[NAME].until - queue.rows.now == 200


@pytest.mark.parametrize("tries", ANY_TRY)
def test_where_no_row_can_be_written_the_message_is_sent_to_its_queue_again(queue: Queue, tries: int) -> None:
    queue.rows.down = True
    assert queue.deliver(tries=tries) == {"batchItemFailures": []}
    ((body, work_id, seconds),) = queue.sent
    assert (body, work_id) == (BODY, NAME)
    assert 60 <= seconds <= 900
    assert queue.gave_up == []


def test_a_database_that_is_away_uses_up_nobody_s_tries(queue: Queue) -> None:
    queue.rows.down = True
    queue.error = Unavailable("Supabase did not answer", vendor="supabase")
    assert [len(queue.deliver(tries=tries)["batchItemFailures"]) for tries in ANY_TRY] == [1, 1, 1, 0, 0]
    assert len(queue.sent) == 2
    assert queue.gave_up == []


def test_what_can_be_put_nowhere_stays_in_its_queue(queue: Queue) -> None:
    queue.rows.down = queue.sqs_away = True
    assert queue.deliver(tries=4) == {"batchItemFailures": [{"itemIdentifier": NAME}]}


def test_what_is_done_later_leaves_no_row(queue: Queue) -> None:
    queue.deliver()
    queue.error = None
    assert queue.deliver(copy_of=NAME) == {"batchItemFailures": []}
    assert queue.rows.table == {}


def test_a_failure_before_the_last_is_told_by_its_row(queue: Queue) -> None:
    queue.error = Invalid("The message is wrong")
    assert len(queue.deliver(tries=2)["batchItemFailures"]) == 1
    (row,) = queue.rows.rows()
    assert (row.state, row.attempt, row.reason) == ("waiting", 2, "The message is wrong")


def test_the_last_failure_is_told_by_a_dead_row_and_to_whom_it_concerns(queue: Queue) -> None:
    queue.error = Invalid("The message is wrong")
    assert len(queue.deliver(tries=5)["batchItemFailures"]) == 1
    (row,) = queue.rows.rows()
    assert (row.state, row.reason) == ("dead", "The message is wrong")
    assert queue.gave_up == [(About("a table"), "The message is wrong")]


def test_a_copy_of_a_dead_letter_is_not_worked_on_and_not_kept(queue: Queue) -> None:
    queue.error = Invalid("The message is wrong")
    queue.deliver(tries=5)
    assert queue.deliver(copy_of=NAME) == {"batchItemFailures": []}
    assert (queue.worked, queue.rows.table[NAME].state) == (1, "dead")


def test_an_end_that_cannot_be_told_does_not_change_what_the_queue_hears(queue: Queue) -> None:
    def away(_about: About, _reason: str) -> None:
        raise Unavailable("Supabase did not answer", vendor="supabase")

    queue.error = Invalid("The message is wrong")
    queue.gave_up = type("Away", (), {"append": lambda _self, told: away(*told)})()
    assert len(queue.deliver(tries=5)["batchItemFailures"]) == 1


@pytest.mark.parametrize(
    ("error", "metric"),
    [
        (OverBudget("The day's tokens are used up"), "WorkPostponed"),
        (OutOfTime("There was no time"), "WorkParked"),
        (CircuitOpen("openai is not asked", vendor="openai"), "WorkParked"),
    ],
)
def test_it_is_counted_as_waiting_and_not_as_failed(
    queue: Queue, capsys: pytest.CaptureFixture[str], error: Exception, metric: str
) -> None:
    queue.error = error
    queue.deliver(tries=1)
    metrics = next(json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line)
    assert metrics[metric] == [1]
    assert not {"MessagesFailed", "WorkPostponed", "WorkParked"} - {metric} & metrics.keys()
    assert metrics["MessageWaitedMilliseconds"][0] >= 0
    warning = next(json.loads(line) for line in queue.log.getvalue().splitlines() if '"WARNING"' in line)
    assert warning["correlation_id"] == queue.work() == NAME
