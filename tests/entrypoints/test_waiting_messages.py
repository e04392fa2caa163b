"""Work that is over the day's budget waits for the next day, and never becomes a dead letter of it."""

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import MAX_RECEIVE_COUNT, queue_handler
from sakuin.errors import OverBudget

from tests.entrypoints.events import Context, event


class Queue:
    """What the handler did with its one message, over a budget that is used up."""

    def __init__(self) -> None:
        self.postponed: list[int] = []
        self.sent: list[tuple[str, int]] = []
        self.waited: list[str] = []
        self.gave_up: list[str] = []
        self.work = CurrentWork()
        self.log = io.StringIO()

    def deliver(self, *, tries: int) -> dict[str, Any]:
        def work(_body: str) -> None:
            raise OverBudget("The day's tokens are used up")

        handler = queue_handler(
            work,
            lambda _handle, seconds: self.postponed.append(seconds),
            Logger(service=f"waiting-{id(self)}", stream=self.log),
            Metrics(namespace="Sakuin", service="test"),
            Tracer(disabled=True),
            gave_up=lambda body, _error: self.gave_up.append(body),
            waits=lambda _body, error: self.waited.append(str(error)),
            send_again=lambda body, seconds: self.sent.append((body, seconds)),
            current=self.work,
        )
        record = event("embed_chunks.batch")["Records"][0]
        record["attributes"]["ApproximateReceiveCount"] = str(tries)
        return handler({"Records": [record]}, Context())


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.mark.parametrize("tries", range(1, MAX_RECEIVE_COUNT - 1))
def test_the_message_stays_hidden_until_the_next_day_or_as_long_as_sqs_hides_one(queue: Queue, tries: int) -> None:
    answer = queue.deliver(tries=tries)
    assert len(answer["batchItemFailures"]) == 1
    assert len(queue.postponed) == 1
    assert 0 < queue.postponed[0] <= 11 * 3600
    assert (queue.sent, queue.gave_up, queue.waited) == ([], [], ["The day's tokens are used up"])


@pytest.mark.parametrize("tries", [MAX_RECEIVE_COUNT - 1, MAX_RECEIVE_COUNT])
def test_before_its_last_try_it_is_sent_anew_with_all_its_tries(queue: Queue, tries: int) -> None:
    answer = queue.deliver(tries=tries)
    assert answer == {"batchItemFailures": []}
    assert queue.sent == [(event("embed_chunks.batch")["Records"][0]["body"], 900)]
    assert (queue.postponed, queue.gave_up) == ([], [])


def test_it_is_counted_as_waiting_and_not_as_failed(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    queue.deliver(tries=1)
    metrics = next(json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line)
    assert metrics["WorkPostponed"] == [1]
    assert "MessagesFailed" not in metrics
    assert metrics["MessageWaitedMilliseconds"][0] >= 0
    warning = next(json.loads(line) for line in queue.log.getvalue().splitlines() if '"WARNING"' in line)
    assert warning["correlation_id"] == queue.work() == event("embed_chunks.batch")["Records"][0]["messageId"]
