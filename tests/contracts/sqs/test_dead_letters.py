"""The dead letter queues: listing changes nothing, and sending loses nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Unavailable
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.platform.telemetry import MESSAGE_ATTRIBUTE
from sakuin.upkeep.dead_letters import DeadLetterQueues


@dataclass(frozen=True, slots=True)
class Queues:
    """The three queues and their dead letter queues on moto."""

    client: Any
    urls: dict[QueueName, str]
    dead_urls: dict[QueueName, str]
    # How long the product waits at a queue. These queues do not wait.
    waits: list[int]

    @property
    def dead(self) -> DeadLetterQueues:
        return DeadLetterQueues(self.client, self.urls, self.dead_urls)

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


def test_a_letter_that_is_sent_again_is_in_its_queue_and_no_dead_letter_any_more(queues: Queues) -> None:
    queues.put("tool", "first")
    queues.put("tool", "second")
    found = queues.dead.receive("tool")
    chosen = next(letter for letter in found if letter.body == "second")
    queues.dead.send_again(chosen)
    queues.dead.release(found)
    assert queues.arrived("tool") == ["second"]
    assert queues.listed("tool") == ["first"]


def test_a_letter_that_is_discarded_is_gone(queues: Queues) -> None:
    queues.put("tool", "poison")
    (letter,) = queues.dead.receive("tool")
    queues.dead.discard(letter)
    queues.dead.release([letter])
    assert (queues.listed("tool"), queues.arrived("tool")) == ([], [])


def test_a_letter_whose_queue_takes_nothing_stays(queues: Queues) -> None:
    queues.put("embed", "{}")
    dead = DeadLetterQueues(
        queues.client, {**queues.urls, "embed": f"{queues.urls['embed']}-nowhere"}, queues.dead_urls
    )
    (letter,) = dead.receive("embed")
    with pytest.raises(Unavailable):
        dead.send_again(letter)
    dead.release([letter])
    assert len(dead.receive("embed")) == 1


def test_what_the_bus_could_not_deliver_says_why(queues: Queues) -> None:
    said = {"ERROR_MESSAGE": "Access denied", "ERROR_CODE": "NO_PERMISSIONS", "RETRY_ATTEMPTS": "185"}
    queues.client.send_message(
        QueueUrl=queues.dead_urls["tool"],
        MessageBody="{}",
        MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in said.items()},
    )
    (letter,) = queues.dead.receive("tool")
    assert (letter.reason, letter.tries) == ("Access denied", 185)


def test_a_letter_keeps_its_correlation_id_when_it_is_sent_again(queues: Queues) -> None:
    attribute = {"DataType": "String", "StringValue": "r1"}
    queues.client.send_message(
        QueueUrl=queues.dead_urls["material"], MessageBody="body", MessageAttributes={MESSAGE_ATTRIBUTE: attribute}
    )
    (letter,) = queues.dead.receive("material")
    queues.dead.send_again(letter)
    (sent,) = queues.client.receive_message(QueueUrl=queues.urls["material"], MessageAttributeNames=["All"])["Messages"]
    assert sent["MessageAttributes"][MESSAGE_ATTRIBUTE]["StringValue"] == "r1"
