"""What every `WorkQueue` promises: its messages are ones that the queue's reader understands."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import boto3
import pytest
from moto import mock_aws
from sakuin.adapters.sqs import MaterialQueue
from sakuin.entrypoints.material_messages import bucket_event
from sakuin.errors import Unavailable
from sakuin.platform.sqs import SqsQueue
from sakuin.ports.materials import WorkQueue
from sakuin.services.follow_bucket import BucketEvent, RecheckKey, ReindexMaterial

from tests.doubles.queue import MemoryQueue


@dataclass(frozen=True, slots=True)
class Both:
    """The queue, and the other end of it."""

    queue: WorkQueue
    bodies: Callable[[], list[str]]

    def received(self) -> list[BucketEvent | None]:
        found = [bucket_event(json.loads(body)) for body in self.bodies()]
        return sorted(found, key=lambda event: getattr(event, "material", ""))


@pytest.fixture(params=["memory", "sqs"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """The list of messages that tests have, and SQS as moto knows it, empty."""
    if request.param == "memory":
        queue = MemoryQueue()
        yield Both(queue, queue.take_messages)
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("sqs")
        url = client.create_queue(QueueName="materials")["QueueUrl"]

        def bodies() -> list[str]:
            found: list[str] = []
            while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
                found += [message["Body"] for message in messages]
            return found

        yield Both(MaterialQueue(SqsQueue(client, url)), bodies)


def test_each_material_is_a_message_of_its_own(both: Both) -> None:
    both.queue.reindex(["b", "junior/二次方程式の解き方_教材"], reason="learns.yml changed")
    assert both.received() == [
        ReindexMaterial("b", "learns.yml changed"),
        ReindexMaterial("junior/二次方程式の解き方_教材", "learns.yml changed"),
    ]


def test_no_material_is_no_message_and_no_error(both: Both) -> None:
    both.queue.reindex([], reason="nothing")
    assert both.received() == []


def test_any_number_of_materials_arrives(both: Both) -> None:
    materials = [f"page-{number:02}" for number in range(23)]
    both.queue.reindex(set(materials), reason="new model", attempt=2)
    assert both.received() == [ReindexMaterial(material, "new model", 2) for material in materials]


@mock_aws
def test_a_delayed_message_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("sqs")
    url = client.create_queue(QueueName="materials")["QueueUrl"]
    MaterialQueue(SqsQueue(client, url)).reindex(["a"], reason="provisional", delay_seconds=300)
    wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
    counted = client.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
    assert counted == {"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "1"}


@mock_aws
def test_a_queue_that_does_not_take_messages_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    nowhere = SqsQueue(boto3.client("sqs"), "https://sqs.us-east-1.amazonaws.com/123456789012/nowhere")
    with pytest.raises(Unavailable):
        MaterialQueue(nowhere).reindex(["a"], reason="lost")


def test_each_key_that_is_to_be_checked_again_is_a_message_of_its_own(both: Both) -> None:
    keys = ["b.html", 'junior/"二次" %20+の.html', "synonyms.yml"]
    both.queue.recheck(keys, reason="reconcile")
    both.queue.recheck([], reason="nothing")
    expected = {RecheckKey(key, "reconcile") for key in keys}
    assert {event for event in both.received() if isinstance(event, RecheckKey)} == expected
