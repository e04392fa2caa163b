"""What SQS promises, as the double and moto keep it, and the queue over both."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sqs.models import sqs_backends
from sakuin.errors import Unavailable
from sakuin.platform.retry import MAX_RECEIVES
from sakuin.platform.sqs import MessageCounts, SqsQueue

from tests.doubles.sqs import RETENTION_SECONDS, VISIBILITY_SECONDS, ModelledSqs

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Sqs:
    """A client, its one queue, a way to let time pass, and the bodies of its dead letters."""

    client: Any
    url: str
    passes: Callable[[float], None]
    dead: Callable[[], list[str]]

    def send(self, body: str = "{}", **more: Any) -> None:
        self.client.send_message(QueueUrl=self.url, MessageBody=body, **more)

    def receive(self) -> list[dict[str, Any]]:
        # Moto makes a message visible again a millisecond late.
        self.passes(0.01)
        found = self.client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        )
        messages: list[dict[str, Any]] = found.get("Messages", [])
        return messages

    def hide(self, message: dict[str, Any], seconds: int) -> None:
        self.client.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    def delete(self, message: dict[str, Any]) -> None:
        self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def counts(self) -> tuple[int, ...]:
        """The numbers of visible, delayed and received messages."""
        names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]
        found = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return tuple(int(found[name]) for name in names)


def modelled() -> Sqs:
    model = ModelledSqs()
    return Sqs(model, "queue", model.passes, lambda: [message.body for message in model.dead])


def at_moto() -> Sqs:
    client = boto3.client("sqs")
    dead = client.create_queue(QueueName="dead")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    attributes = {
        "VisibilityTimeout": str(VISIBILITY_SECONDS),
        "MessageRetentionPeriod": str(RETENTION_SECONDS),
        "RedrivePolicy": f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": {MAX_RECEIVES}}}',
    }
    url = client.create_queue(QueueName="queue", Attributes=attributes)["QueueUrl"]
    queue = sqs_backends[DEFAULT_ACCOUNT_ID][REGION].queues["queue"]

    def passes(seconds: float) -> None:
        # Moto's clock is the machine's: what is known of messages moves into the past.
        for message in queue._messages:
            message.visible_at -= seconds * 1000
            message.delayed_until -= seconds * 1000
            message.sent_timestamp -= round(seconds * 1000)

    def letters() -> list[str]:
        found = client.receive_message(QueueUrl=dead, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [message["Body"] for message in found.get("Messages", [])]

    return Sqs(client, url, passes, letters)


@pytest.fixture(params=["modelled", "moto"])
def sqs(request: pytest.FixtureRequest) -> Iterator[Sqs]:
    if request.param == "modelled":
        yield modelled()
        return
    with mock_aws():
        yield at_moto()


@pytest.mark.parametrize("seconds", [None, 0, 60, 2000])
def test_a_received_message_is_hidden_until_its_time_is_over(sqs: Sqs, seconds: int | None) -> None:
    """The receiver may say for how long: at most twelve hours."""
    sqs.send("body")
    (message,) = sqs.receive()
    assert message["Body"] == "body"
    with pytest.raises(ClientError):
        sqs.hide(message, 43_201)
    if seconds is not None:
        sqs.hide(message, seconds)
    hidden = VISIBILITY_SECONDS if seconds is None else seconds
    if hidden:
        sqs.passes(hidden - 1)
        assert sqs.receive() == []
    sqs.passes(1)
    assert [again["Body"] for again in sqs.receive()] == ["body"]


def test_each_delivery_has_its_count_and_handle_and_the_last_is_before_a_dead_letter(sqs: Sqs) -> None:
    sqs.send("poison")
    handles = set()
    for count in range(1, MAX_RECEIVES + 1):
        (message,) = sqs.receive()
        assert (message["Attributes"]["ApproximateReceiveCount"], sqs.dead()) == (str(count), [])
        handles.add(message["ReceiptHandle"])
        sqs.hide(message, 0)
    assert (sqs.receive(), sqs.dead(), len(handles)) == ([], ["poison"], MAX_RECEIVES)


def test_a_deleted_message_is_gone_and_its_handle_changes_nothing(sqs: Sqs) -> None:
    sqs.send()
    (message,) = sqs.receive()
    sqs.delete(message)
    sqs.delete(message)
    with pytest.raises(ClientError):
        sqs.hide(message, 60)
    sqs.passes(VISIBILITY_SECONDS)
    assert sqs.receive() == []


def test_a_delayed_message_arrives_after_its_delay(sqs: Sqs) -> None:
    sqs.send(DelaySeconds=900)
    assert (sqs.receive(), sqs.counts()) == ([], (0, 1, 0))
    sqs.passes(901)
    assert sqs.counts() == (1, 0, 0)
    assert len(sqs.receive()) == 1
    assert sqs.counts() == (0, 0, 1)


def entries(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"Id": str(number), "MessageBody": f"body {number}", **more} for number in range(count)]


def test_a_batch_of_eleven_is_refused_whole_and_of_another_what_is_wrong(sqs: Sqs) -> None:
    with pytest.raises(ClientError) as refused:
        sqs.client.send_message_batch(QueueUrl=sqs.url, Entries=entries(11))
    assert "TooManyEntriesInBatchRequest" in refused.value.response["Error"]["Code"]
    assert sqs.counts() == (0, 0, 0)
    wrong = entries(3, DelaySeconds=0)
    wrong[1]["DelaySeconds"] = 901
    answer = sqs.client.send_message_batch(QueueUrl=sqs.url, Entries=wrong)
    assert [one["Id"] for one in answer["Failed"]] == ["1"]
    assert sorted(message["Body"] for message in sqs.receive()) == ["body 0", "body 2"]


def test_after_fourteen_days_a_message_is_gone(sqs: Sqs) -> None:
    sqs.send()
    sqs.passes(RETENTION_SECONDS + 1)
    assert sqs.receive() == []


def test_a_handle_whose_message_was_delivered_again_is_refused() -> None:
    # Of the double alone: moto takes every handle that a message ever had.
    sqs = modelled()
    sqs.send()
    (stale,) = sqs.receive()
    sqs.passes(VISIBILITY_SECONDS)
    with pytest.raises(ClientError):
        sqs.hide(stale, 60)
    (message,) = sqs.receive()
    with pytest.raises(ClientError):
        sqs.hide(stale, 60)
    sqs.delete(stale)
    sqs.hide(message, 0)
    assert len(sqs.receive()) == 1


@pytest.fixture
def queue(sqs: Sqs) -> SqsQueue:
    return SqsQueue(sqs.client, sqs.url)


def received(queue: SqsQueue) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while messages := queue.client.receive_message(
        QueueUrl=queue.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    ).get("Messages"):
        found += messages
    return found


@dataclass
class Requests:
    """A client that counts the entries of each batch; `refuses` is an entry that SQS does not take."""

    real: Any = field(default_factory=ModelledSqs)
    refuses: str | None = None
    batches: list[int] = field(default_factory=list)

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Mapping[str, Any]]) -> dict[str, Any]:
        self.batches.append(len(Entries))
        taken = [entry for entry in Entries if self.refuses is None or self.refuses not in entry["MessageBody"]]
        answer: dict[str, Any] = self.real.send_message_batch(QueueUrl=QueueUrl, Entries=taken)
        failed = [{"Id": entry["Id"], "Code": "InternalError"} for entry in Entries if entry not in taken]
        return answer | ({"Failed": failed} if failed else {})


def test_any_number_of_messages_arrives_as_it_was_sent(queue: SqsQueue) -> None:
    messages = [{"number": number, "text": "二次方程式"} for number in range(23)]
    queue.send(messages)
    found = [json.loads(message["Body"]) for message in received(queue)]
    assert sorted(found, key=lambda message: message["number"]) == messages


def test_messages_go_in_batches_of_ten_and_none_in_no_request() -> None:
    requests = Requests()
    for count in (23, 0):
        SqsQueue(requests, "queue").send([{"number": number} for number in range(count)])
    assert requests.batches == [10, 10, 3]


def test_what_sqs_did_not_take_of_a_batch_is_an_error() -> None:
    requests = Requests(refuses="number 3")
    with pytest.raises(Unavailable, match="SQS did not accept 1 of 5 messages") as failure:
        SqsQueue(requests, "queue").send([{"text": f"number {number}"} for number in range(5)])
    assert failure.value.vendor == "sqs"
    # The caller sends all of them again: messages may come twice.
    assert len(requests.real.messages) == 4


def test_a_delayed_message_is_held_back(queue: SqsQueue) -> None:
    queue.send_copy("{}", {}, delay_seconds=900)
    assert received(queue) == []
    assert not queue.is_empty()


def test_a_copy_has_the_body_and_the_attributes_that_say_something(queue: SqsQueue) -> None:
    queue.send_copy("not JSON", {"copies": "2", "correlation_id": ""}, delay_seconds=0)
    (message,) = received(queue)
    assert message["Body"] == "not JSON"
    assert {name: value["StringValue"] for name, value in message["MessageAttributes"].items()} == {"copies": "2"}


def test_a_message_and_its_copy_have_the_group_of_their_tenant(queue: SqsQueue) -> None:
    queue.send([{}], group="p1")
    queue.send_copy("{}", {}, delay_seconds=0, group="p1")
    queue.send([{}])
    groups = [message["Attributes"].get("MessageGroupId") for message in received(queue)]
    assert sorted(groups, key=str) == [None, "p1", "p1"]


def test_a_handle_of_a_message_that_is_gone_is_an_error(queue: SqsQueue) -> None:
    queue.send([{}])
    (message,) = received(queue)
    queue.client.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
    with pytest.raises(Unavailable):
        queue.hide(message["ReceiptHandle"], seconds=60)
    assert queue.is_empty()


def test_a_queue_that_is_not_there_is_unavailable(queue: SqsQueue) -> None:
    if isinstance(queue.client, ModelledSqs):
        pytest.skip("the double has every queue")
    nowhere = SqsQueue(queue.client, f"{queue.url}-nowhere")
    for ask in (lambda: nowhere.send([{}]), nowhere.is_empty, lambda: nowhere.hide("handle", seconds=0)):
        with pytest.raises(Unavailable) as failure:
            ask()
        assert failure.value.vendor == "sqs"


def test_messages_in_flight_are_not_finished() -> None:
    assert MessageCounts(waiting=2, in_flight=3).all == 5
