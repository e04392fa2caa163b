"""What every `DeadLetters` promises: looking changes nothing, and sending loses nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.adapters.sqs_work import SqsWorkQueues
from sakuin.domain.work import About, DueWork, WorkQueueName
from sakuin.errors import Unavailable
from sakuin.ports.work import DeadLetter, DeadLetters
from sakuin_cli.dead_letters import SqsDeadLetters

from tests.in_memory.work import MemoryDeadLetters


@dataclass(frozen=True, slots=True)
class Letters:
    """The dead letters, a way to put some there, and what arrives in the queues that they came from."""

    port: DeadLetters
    put: Callable[[WorkQueueName, str], None]
    arrived: Callable[[WorkQueueName], list[str]]

    def bodies(self, queue: WorkQueueName) -> list[str]:
        """What lies there, left as it was."""
        found = self.port.look(queue)
        self.port.leave(found)
        return [letter.body for letter in found]


@dataclass(frozen=True, slots=True)
class Queues:
    """The three queues and their dead letters at moto."""

    client: Any
    urls: dict[WorkQueueName, str]
    dead_urls: dict[WorkQueueName, str]

    def bodies(self, url: str) -> list[str]:
        found: list[str] = []
        while messages := self.client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
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


@pytest.fixture(params=["memory", "sqs"])
def letters(request: pytest.FixtureRequest) -> Letters:
    """Each adapter in turn, empty."""
    if request.param == "memory":
        memory = MemoryDeadLetters()

        def put(queue: WorkQueueName, body: str) -> None:
            name = str(len(memory.letters))
            memory.letters.append(DeadLetter(name, name, queue, body, 5, float(name), None, "", name))

        return Letters(memory, put, lambda queue: [one.body for one in memory.sent if one.queue == queue])
    at: Queues = request.getfixturevalue("queues")
    return Letters(
        SqsDeadLetters(at.client, at.urls, at.dead_urls),
        lambda queue, body: at.client.send_message(QueueUrl=at.dead_urls[queue], MessageBody=body),
        lambda queue: at.bodies(at.urls[queue]),
    )


def test_looking_shows_what_there_is_and_changes_nothing(letters: Letters) -> None:
    letters.put("material", "not JSON")
    letters.put("tool", "{}")
    assert letters.bodies("material") == ["not JSON"]
    assert letters.bodies("material") == ["not JSON"]
    assert letters.bodies("embed") == []
    assert letters.arrived("material") == []


def test_any_number_is_shown(letters: Letters) -> None:
    for number in range(23):
        letters.put("material", f"body {number:02}")
    assert sorted(letters.bodies("material")) == [f"body {number:02}" for number in range(23)]


def test_while_one_looks_nobody_else_sees_them(letters: Letters) -> None:
    letters.put("embed", "{}")
    found = letters.port.look("embed")
    assert letters.port.look("embed") == []
    letters.port.leave(found)
    assert len(letters.port.look("embed")) == 1


def test_what_is_sent_again_is_in_its_queue_and_no_dead_letter_any_more(letters: Letters) -> None:
    letters.put("tool", "first")
    letters.put("tool", "second")
    found = letters.port.look("tool")
    chosen = next(letter for letter in found if letter.body == "second")
    letters.port.send_again(chosen)
    letters.port.leave(found)
    assert letters.arrived("tool") == ["second"]
    assert letters.bodies("tool") == ["first"]


def test_a_letter_whose_queue_takes_nothing_stays(queues: Queues) -> None:
    queues.client.send_message(QueueUrl=queues.dead_urls["embed"], MessageBody="{}")
    port = SqsDeadLetters(queues.client, {**queues.urls, "embed": f"{queues.urls['embed']}-nowhere"}, queues.dead_urls)
    (letter,) = port.look("embed")
    with pytest.raises(Unavailable):
        port.send_again(letter)
    port.leave([letter])
    assert len(port.look("embed")) == 1


def test_what_the_bus_could_not_deliver_says_why(queues: Queues) -> None:
    said = {"ERROR_MESSAGE": "Access denied", "ERROR_CODE": "NO_PERMISSIONS", "RETRY_ATTEMPTS": "185"}
    queues.client.send_message(
        QueueUrl=queues.dead_urls["tool"],
        MessageBody="{}",
        MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in said.items()},
    )
    (letter,) = SqsDeadLetters(queues.client, queues.urls, queues.dead_urls).look("tool")
    assert (letter.said, letter.tries, letter.work_id) == ("Access denied", 185, letter.id)


def test_a_copy_goes_under_its_old_name_wherever_it_is_sent(queues: Queues) -> None:
    work = DueWork("m1", "material", "body", "r1", About("x"), attempt=5, lost=True)
    at = SqsWorkQueues(queues.client, queues.urls, queues.dead_urls)
    at.send(work)
    at.bury(work)
    (letter,) = SqsDeadLetters(queues.client, queues.urls, queues.dead_urls).look("material")
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
