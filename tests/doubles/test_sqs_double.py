"""What SQS promises, as the double and moto keep it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sqs.models import sqs_backends
from sakuin.platform.retry import MAX_RECEIVES

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
    """Whoever has it may say for how long: at most twelve hours."""
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
