"""The dead letter queues: listing changes nothing, and sending loses nothing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Unavailable
from sakuin.knowledge.messages import AskLearns, MaterialQueue, RecheckKey, ReindexMaterial, read_event
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.platform.sqs import SqsQueue
from sakuin.tables.messages import EmbedRequest, ScanRequest, TableQueues, embed_message, tool_message
from sakuin.upkeep import queues as upkeep

from tests.doubles.sqs import ModelledSqs


@dataclass(frozen=True, slots=True)
class Queues:
    """The three queues and their dead letter queues on moto."""

    client: Any
    urls: dict[QueueName, str]
    dead_urls: dict[QueueName, str]
    # How long the product waits at a queue. These queues do not wait.
    waits: list[int]

    @property
    def dead(self) -> upkeep.Queues:
        return upkeep.Queues(self.client, self.urls, self.dead_urls)

    def put(self, queue: QueueName, body: str) -> None:
        self.client.send_message(QueueUrl=self.dead_urls[queue], MessageBody=body)

    def listed(self, queue: QueueName) -> list[str]:
        found = self.dead.receive(queue)
        self.dead.release(found)
        return [letter.body for letter in found]

    def arrived(self, queue: QueueName) -> list[str]:
        found: list[str] = []
        while messages := self.client.receive_message(QueueUrl=self.urls[queue], MaxNumberOfMessages=10).get(
            "Messages"
        ):
            found += [message["Body"] for message in messages]
        return found


@pytest.fixture
def queues() -> Iterator[Queues]:
    with mock_aws():
        client, waits = boto3.client("sqs"), list[int]()

        def not_waiting(params: dict[str, Any], **_event: object) -> None:
            waits.append(params.pop("WaitTimeSeconds", 0))

        client.meta.events.register("provide-client-params.sqs.ReceiveMessage", not_waiting)
        urls = {name: client.create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
        dead_urls = {name: client.create_queue(QueueName=f"{name}-dead")["QueueUrl"] for name in QUEUES}
        yield Queues(client, urls, dead_urls, waits)


def test_listing_shows_what_there_is_and_changes_nothing(queues: Queues) -> None:
    queues.put("material", "not JSON")
    queues.put("tool", "{}")
    assert queues.listed("material") == ["not JSON"]
    # A short poll would query only some of the servers of SQS.
    assert set(queues.waits) == {1}
    assert queues.listed("material") == ["not JSON"]
    assert queues.listed("embed") == []
    assert queues.arrived("material") == []


def test_any_number_is_listed_and_a_look_receives_no_more_than_it_shows(queues: Queues) -> None:
    for number in range(23):
        queues.put("material", f"body {number:02}")
    assert sorted(queues.listed("material")) == [f"body {number:02}" for number in range(23)]
    found = queues.dead.receive("material", most=5)
    # SQS gives ten at a time.
    assert len(found) == 10
    queues.dead.release(found)
    assert len(queues.listed("material")) == 23


def test_while_one_operator_has_them_nobody_else_receives_them(queues: Queues) -> None:
    queues.put("embed", "{}")
    found = queues.dead.receive("embed")
    assert queues.dead.receive("embed") == []
    queues.dead.release(found)
    assert len(queues.dead.receive("embed")) == 1


def test_a_letter_whose_queue_takes_nothing_stays(queues: Queues) -> None:
    queues.put("embed", "{}")
    dead = upkeep.Queues(queues.client, {**queues.urls, "embed": f"{queues.urls['embed']}-nowhere"}, queues.dead_urls)
    (letter,) = dead.receive("embed")
    with pytest.raises(Unavailable):
        dead.send_again(letter)
    dead.release([letter])
    assert len(dead.receive("embed")) == 1


PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"


@pytest.fixture
def sqs() -> ModelledSqs:
    return ModelledSqs()


@pytest.fixture
def queue(sqs: ModelledSqs) -> MaterialQueue:
    return MaterialQueue(SqsQueue(sqs, "materials"))


def bodies(sqs: ModelledSqs) -> list[dict[str, object]]:
    return [json.loads(message.body) for message in sqs.messages]


@pytest.mark.parametrize("names", [[], ["b", 'junior/"二次" %20+の教材'], [f"p{number:02}" for number in range(23)]])
def test_each_material_and_each_key_is_one_message(sqs: ModelledSqs, queue: MaterialQueue, names: list[str]) -> None:
    queue.reindex(names, reason="learns.yml changed")
    queue.recheck(names, reason="reconcile")
    queue.ask_learns(names)
    assert [read_event(body) for body in bodies(sqs)] == [
        *(ReindexMaterial(material=name, reason="learns.yml changed") for name in names),
        *(RecheckKey(key=name, reason="reconcile") for name in names),
        *(AskLearns(material=name) for name in names),
    ]


@pytest.mark.parametrize("version", ["", "an index"])
def test_work_on_tables_names_its_table_and_its_index(sqs: ModelledSqs, version: str) -> None:
    queues = TableQueues(SqsQueue(sqs, "tools"), SqsQueue(sqs, "embeds"), version)
    table = {"project_id": PROJECT, "table_id": TABLE, "index_version": version or None}
    queues.index(PROJECT, TABLE, generation=3, skip=2000)
    queues.embed_chunks(PROJECT, TABLE, [["a", "b"], ["c"]])
    scan, *embeds = bodies(sqs)
    assert tool_message(scan) == ScanRequest(**table, generation=3, skip=2000)
    assert [embed_message(body) for body in embeds] == [
        EmbedRequest(**table, chunks=chunks) for chunks in (["a", "b"], ["c"])
    ]
    # Fair queues do not let one project's many messages hold up those of others.
    assert [(message.queue, message.group) for message in sqs.messages] == [
        (queue, PROJECT) for queue in ("tools", "embeds", "embeds")
    ]
