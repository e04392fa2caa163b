"""The queue over moto and over the double, which has to answer as moto does."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Unavailable
from sakuin.platform.sqs import MessageCounts, SqsQueue

from tests.doubles.sqs import ModelledSqs


@pytest.fixture(params=["modelled", "moto"])
def queue(request: pytest.FixtureRequest) -> Iterator[SqsQueue]:
    if request.param == "modelled":
        yield SqsQueue(ModelledSqs(), "queue")
        return
    with mock_aws():
        client = boto3.client("sqs")
        yield SqsQueue(client, client.create_queue(QueueName="queue")["QueueUrl"])


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
