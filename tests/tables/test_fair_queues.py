"""A simulation: one project's large Table does not hold up the edits of another. It shows the rule of fair queues.

The queue is the double of SQS; each call to embed a message of chunks takes 0.2 seconds, and there are five workers,
as in the template. What a real account shows is in docs/how-to/first-real-deploy.md.
"""

import heapq
import json
from statistics import quantiles

import pytest
from sakuin.platform.sqs import SqsQueue
from sakuin.tables.messages import TableQueues

from tests.doubles.sqs import ModelledSqs

LARGE, SMALL = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
WORKERS, CALL_SECONDS, CHUNKS_A_MESSAGE, CHUNKS = 5, 0.2, 32, 20_000
# An edit each second, from the second on in which the queue knows who is busy.
EDITS = [1.0 + number * 0.97 for number in range(20)]


class _WithoutGroups(ModelledSqs):
    def send_message(self, *, MessageGroupId: str = "", **asked: object) -> dict[str, str]:
        return super().send_message(**asked)


def seconds_of_edits(sqs: ModelledSqs, *, large: int) -> list[float]:
    """The time from each edit of the small project to its stored chunk, while the other one loads `large` chunks."""
    queues = TableQueues(SqsQueue(sqs, "tools"), SqsQueue(sqs, "chunks"))
    began = sqs.now
    queues.embed_chunks(LARGE, LARGE, [["c"] * CHUNKS_A_MESSAGE] * (large // CHUNKS_A_MESSAGE))
    # Moments at which somebody sends (no handle) or a worker is done (with its message).
    agenda: list[tuple[float, int, str]] = [(began + edit, number, "") for number, edit in enumerate(EDITS)]
    heapq.heapify(agenda)
    sent: list[float] = []
    took: list[float] = []
    ended, free = len(EDITS), WORKERS
    bodies: dict[str, str] = {}
    while len(took) < len(EDITS):
        while free and (found := sqs.receive_message(QueueUrl="chunks").get("Messages")):
            (message,) = found
            bodies[message["ReceiptHandle"]] = message["Body"]
            ended, free = ended + 1, free - 1
            heapq.heappush(agenda, (sqs.now + CALL_SECONDS, ended, message["ReceiptHandle"]))
        moment, _, handle = heapq.heappop(agenda)
        sqs.now = moment
        if not handle:
            sent.append(moment)
            queues.embed_chunks(SMALL, SMALL, [[str(len(sent) - 1)]])
            continue
        free += 1
        sqs.delete_message(QueueUrl="chunks", ReceiptHandle=handle)
        done = json.loads(bodies.pop(handle))["embed"]
        if done["project_id"] == SMALL:
            took.append(moment - sent[int(done["chunks"][0])])
    return took


def p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def test_an_edit_takes_at_most_twice_as_long_while_another_project_loads_20_000_chunks() -> None:
    alone = p95(seconds_of_edits(ModelledSqs(), large=0))
    assert alone == pytest.approx(CALL_SECONDS)
    assert p95(seconds_of_edits(ModelledSqs(), large=CHUNKS)) <= 2 * alone


def test_without_groups_an_edit_waits_behind_all_of_them() -> None:
    assert p95(seconds_of_edits(_WithoutGroups(), large=CHUNKS // 2)) > 20 * CALL_SECONDS
