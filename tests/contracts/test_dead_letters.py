"""The dead letter queues: listing changes nothing, and sending loses nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.adapters.sqs_work import SqsWorkQueues
from sakuin.domain.work import About, DueWork, WorkQueueName
from sakuin.errors import Unavailable
from sakuin_cli.dead_letters import DeadLetterQueues


@dataclass(frozen=True, slots=True)
class Queues:
    """The three queues and their dead letters at moto, and an operator who lists them."""

    client: Any
    urls: dict[WorkQueueName, str]
    dead_urls: dict[WorkQueueName, str]

    @property
    def dead(self) -> DeadLetterQueues:
        return DeadLetterQueues(self.client, self.urls, self.dead_urls)

    def put(self, queue: WorkQueueName, body: str) -> None:
        """Puts a message among the dead letters."""
        self.client.send_message(QueueUrl=self.dead_urls[queue], MessageBody=body)

    def listed(self, queue: WorkQueueName) -> list[str]:
        """The bodies of the dead letters, left as they were."""
        found = self.dead.receive(queue)
        self.dead.release(found)
        return [letter.body for letter in found]

    def arrived(self, queue: WorkQueueName) -> list[str]:
        """The bodies that came back to a queue."""
        found: list[str] = []
        while messages := self.client.receive_message(QueueUrl=self.urls[queue], MaxNumberOfMessages=10).get(
            "Messages"
        ):
            found += [message["Body"] for message in messages]
        return found


NAMES: tuple[WorkQueueName, ...] = ("material", "tool", "embed")


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queues]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("sqs")
        urls = {name: client.create_queue(QueueName=name)["QueueUrl"] for name in NAMES}
        dead_urls = {name: client.create_queue(QueueName=f"{name}-dead")["QueueUrl"] for name in NAMES}
        yield Queues(client, urls, dead_urls)


def test_listing_shows_what_there_is_and_changes_nothing(queues: Queues) -> None:
    queues.put("material", "not JSON")
    queues.put("tool", "{}")
    assert queues.listed("material") == ["not JSON"]
    assert queues.listed("material") == ["not JSON"]
    assert queues.listed("embed") == []
    assert queues.arrived("material") == []


def test_any_number_is_listed(queues: Queues) -> None:
    for number in range(23):
        queues.put("material", f"body {number:02}")
    assert sorted(queues.listed("material")) == [f"body {number:02}" for number in range(23)]


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
    assert (letter.bus_reason, letter.tries, letter.work_id) == ("Access denied", 185, letter.id)


def test_a_copy_goes_under_its_old_name_wherever_it_is_sent(queues: Queues) -> None:
    work = DueWork("m1", "material", "body", "r1", About("x"), attempt=5, lost=True)
    at = SqsWorkQueues(queues.client, queues.urls, queues.dead_urls)
    at.send(work)
    at.bury(work)
    (letter,) = queues.dead.receive("material")
    assert (letter.work_id, letter.correlation_id, letter.body) == ("m1", "r1", "body")
    (sent,) = queues.client.receive_message(QueueUrl=queues.urls["material"], MessageAttributeNames=["All"])["Messages"]
    assert sent["MessageAttributes"]["work_id"]["StringValue"] == "m1"
    assert sent["MessageAttributes"]["correlation_id"]["StringValue"] == "r1"


def test_a_line_is_empty_until_a_message_waits(queues: Queues) -> None:
    at = SqsWorkQueues(queues.client, queues.urls, queues.dead_urls)
    assert at.lines_are_empty("tool", "embed")
    queues.client.send_message(QueueUrl=queues.urls["embed"], MessageBody="{}", DelaySeconds=60)
    assert at.lines_are_empty("tool")
    assert not at.lines_are_empty("tool", "embed")
