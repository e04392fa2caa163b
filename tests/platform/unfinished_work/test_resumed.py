"""A request of each queue survives an outage: it leaves its queue, and its message comes back."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.errors import CircuitOpen
from sakuin.knowledge.messages import read_event
from sakuin.platform.sqs import SqsQueue
from sakuin.tables.messages import embed_message, tool_message
from sakuin.upkeep.maintain import ResumeWork

from tests.doubles.sqs import ModelledSqs
from tests.events import s3_message
from tests.platform.unfinished_work.conftest import Work
from tests.worked_queue import WorkedQueue

PROJECT = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10"
READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "material": read_event,
    "tool": tool_message,
    "embed": embed_message,
}
AWAY = CircuitOpen("openai keeps failing", vendor="openai")
BUSY = CircuitOpen("a namespace is busy", vendor="turbopuffer", namespace="a", retry_after=30)
IDS = {"project_id": PROJECT, "table_id": "TABLE"}
OF_VERSION = {**IDS, "index_version": "an index"}


@dataclass
class Failing:
    """The work of a queue that fails with `error` unless it is None."""

    read: Callable[[Mapping[str, Any]], Any]
    error: Exception | None
    gave_up: list[str] = field(default_factory=list)

    def process(self, _request: object) -> None:
        if self.error is not None:
            raise self.error

    def give_up(self, _request: object, reason: str) -> None:
        self.gave_up.append(reason)


@pytest.mark.parametrize(
    ("queue", "message", "scan"),
    [
        ("material", s3_message("a.html"), None),
        ("material", s3_message("a.html", event_name="ObjectRemoved:DeleteMarkerCreated"), None),
        ("material", {"reindex": {"material": "a", "index_version": "an index"}}, None),
        ("material", {"recheck": {"key": "learns.yml"}}, None),
        ("tool", s3_message(f"tables/{PROJECT}/TABLE/7.json"), None),
        ("tool", {"detail-type": "TableUpdated", "detail": IDS}, IDS),
        ("tool", {"index": {**OF_VERSION, "generation": 3, "skip": 2000}}, OF_VERSION),
        ("embed", {"embed": {**OF_VERSION, "chunks": ["a", "b"]}}, OF_VERSION),
    ],
)
def test_the_message_of_a_request_comes_back_and_that_of_a_table_as_a_scan(
    work: Work, table: str, queue: str, message: dict[str, Any], scan: dict[str, str] | None
) -> None:
    sqs, body = ModelledSqs(), json.dumps(message).replace("TABLE", table)
    failing = Failing(READERS[queue], BUSY if queue == "tool" else AWAY)
    worker = WorkedQueue(failing, work.store, sqs, queue)
    sqs.send_message(QueueUrl=queue, MessageBody=body, MessageGroupId=PROJECT)
    assert worker.deliver_waiting() == [True]
    assert (sqs.messages, set(work.states().values())) == ([], {"waiting"})
    failing.error = None
    sent = []
    while work.states() and len(sent) < 3:
        work.passes(901)
        assert ResumeWork(work.store, {name: SqsQueue(sqs, name) for name in READERS})() == 1
        (back,) = sqs.messages
        sent.append((back.queue, json.loads(back.body), back.group))
        worker.name, failing.read = back.queue, READERS[back.queue]
        assert worker.deliver_waiting() == [True]
    same = (queue, json.loads(body), PROJECT)
    scanned = ("tool", {"index": {**(scan or {}), "table_id": table}}, PROJECT)
    # A batch of chunks tests whether its vendor answers.
    assert sent == ([same, scanned] if queue == "embed" else [scanned if scan else same])
    assert (failing.gave_up, sqs.dead) == ([], [])
