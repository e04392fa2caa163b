"""The lease of a message: extended while its worker lives, short after a kill."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from sakuin.platform.sqs import MessageLease, SqsQueue

from tests.doubles.sqs import VISIBILITY_SECONDS, Message, ModelledSqs

# A real lease is extended by a real clock: a third of this passes between two extensions.
A_SECOND = 1
LONG_ENOUGH = 60.0


@dataclass
class Watched:
    """SQS that counts requests to hide a message; `lost` of them do not arrive."""

    real: ModelledSqs = field(default_factory=ModelledSqs)
    lost: int = 0
    seconds: list[int] = field(default_factory=list)
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def change_message_visibility(self, *, VisibilityTimeout: int, **message: Any) -> None:
        self.seconds.append(VisibilityTimeout)
        try:
            if len(self.seconds) <= self.lost:
                raise EndpointConnectionError(endpoint_url="https://sqs")
            self.real.change_message_visibility(VisibilityTimeout=VisibilityTimeout, **message)
        finally:
            self.asked.release()

    def is_asked(self, times: int) -> bool:
        return all(self.asked.acquire(timeout=LONG_ENOUGH) for _ in range(times))


@dataclass
class Worker:
    """A worker that has received a message."""

    sqs: Watched
    message: Message
    leases: list[MessageLease] = field(default_factory=list)

    def begins(self, seconds: int) -> MessageLease:
        self.leases.append(MessageLease(SqsQueue(self.sqs, "queue"), self.message.handle, seconds=seconds))
        return self.leases[-1]


@pytest.fixture
def worker() -> Iterator[Worker]:
    sqs = Watched()
    sqs.real.send_message(QueueUrl="queue", MessageBody="{}")
    worker = Worker(sqs, sqs.real.receive(0))
    yield worker
    for lease in worker.leases:
        lease.stop()


def test_the_message_of_a_killed_worker_comes_back_after_its_lease_and_not_the_queue_s_time(worker: Worker) -> None:
    lease = worker.begins(60)
    assert worker.sqs.is_asked(1)
    # As a kill does, for the message.
    lease.stop()
    sqs = worker.sqs.real
    assert worker.message.visible_at == sqs.now + 60 < sqs.now + VISIBILITY_SECONDS
    sqs.passes(60)
    assert sqs.waiting == [worker.message]


def test_a_lease_is_extended_while_its_worker_lives(worker: Worker) -> None:
    worker.begins(A_SECOND)
    assert worker.sqs.is_asked(3)
    assert set(worker.sqs.seconds) == {A_SECOND}


def test_a_lease_that_was_stopped_is_not_extended(worker: Worker) -> None:
    before = threading.active_count()
    lease = worker.begins(A_SECOND)
    assert worker.sqs.is_asked(1)
    lease.stop()
    assert threading.active_count() == before
    worker.sqs.real.change_message_visibility(
        QueueUrl="queue", ReceiptHandle=worker.message.handle, VisibilityTimeout=0
    )
    assert worker.sqs.real.waiting == [worker.message]


def test_a_lost_extension_is_sent_again_in_time(worker: Worker) -> None:
    worker.sqs.lost = 2
    worker.begins(A_SECOND)
    assert worker.sqs.is_asked(3)
    assert worker.message.visible_at == worker.sqs.real.now + A_SECOND


def test_the_lease_of_a_message_that_another_worker_has_changes_nothing(worker: Worker) -> None:
    sqs = worker.sqs.real
    sqs.passes(VISIBILITY_SECONDS)
    sqs.receive(0)
    stale = f"{worker.message.id}-1"
    lease = MessageLease(SqsQueue(worker.sqs, "queue"), stale, seconds=60)
    assert worker.sqs.is_asked(1)
    lease.stop()
    assert worker.message.visible_at == sqs.now + VISIBILITY_SECONDS
