"""What every `WorkQueue` promises: its messages are ones that the queue's reader understands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import boto3
import pytest
from moto import mock_aws
from sakuin.adapters.sqs import SqsWorkQueue
from sakuin.entrypoints.material_messages import changes
from sakuin.errors import Unavailable
from sakuin.ports.materials import WorkQueue
from sakuin.services.follow_bucket import AskedAgain, Change, LookedAt

from tests.in_memory.queue import MemoryQueue


@dataclass(frozen=True, slots=True)
class Both:
    """The queue, and the other end of it."""

    queue: WorkQueue
    bodies: Callable[[], list[str]]

    def received(self) -> list[Change]:
        found = [change for body in self.bodies() for change in changes(body)]
        return sorted(found, key=lambda change: getattr(change, "material", ""))


@pytest.fixture(params=["memory", "sqs"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Each adapter in turn, empty."""
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

        yield Both(SqsWorkQueue(client, url), bodies)


def test_each_material_is_a_message_of_its_own(both: Both) -> None:
    both.queue.reapply(["b", "junior/二次方程式の解き方_教材"], reason="learns.yml changed")
    assert both.received() == [
        AskedAgain("b", "learns.yml changed"),
        AskedAgain("junior/二次方程式の解き方_教材", "learns.yml changed"),
    ]


def test_no_material_is_no_message_and_no_error(both: Both) -> None:
    both.queue.reapply([], reason="nothing")
    assert both.received() == []


def test_any_number_of_materials_arrives(both: Both) -> None:
    materials = [f"page-{number:02}" for number in range(23)]
    both.queue.reapply(set(materials), reason="new model", attempt=2)
    assert both.received() == [AskedAgain(material, "new model", 2) for material in materials]


@mock_aws
def test_a_delayed_message_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("sqs")
    url = client.create_queue(QueueName="materials")["QueueUrl"]
    SqsWorkQueue(client, url).reapply(["a"], reason="provisional", delay_seconds=300)
    wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
    counted = client.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
    assert counted == {"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "1"}


@mock_aws
def test_a_queue_that_does_not_take_messages_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    queue = SqsWorkQueue(boto3.client("sqs"), "https://sqs.us-east-1.amazonaws.com/123456789012/nowhere")
    with pytest.raises(Unavailable):
        queue.reapply(["a"], reason="lost")


def test_each_key_that_is_to_be_looked_at_is_a_message_of_its_own(both: Both) -> None:
    keys = ["b.html", 'junior/"二次" %20+の.html', "synonyms.yml"]
    both.queue.look(keys, reason="reconcile")
    both.queue.look([], reason="nothing")
    expected = {LookedAt(key, "reconcile") for key in keys}
    assert {change for change in both.received() if isinstance(change, LookedAt)} == expected
