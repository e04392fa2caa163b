"""What every queue of material messages promises: its messages are ones that the queue's reader understands."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import boto3
import pytest
from moto import mock_aws
from sakuin.errors import Unavailable
from sakuin.knowledge.bucket_events import subject_of_event
from sakuin.knowledge.messages import BucketEvent, MaterialQueue, RecheckKey, ReindexMaterial, read_event
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.tables.messages import DocumentUploaded, EmbedRequest, ScanRequest, TableQueues, embed_message, tool_message

from tests.doubles.queue import MemoryQueue
from tests.doubles.sqs import ModelledSqs

PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"


@dataclass(frozen=True, slots=True)
class Both:
    """The queue, and the other end of it."""

    queue: MaterialQueue
    bodies: Callable[[], list[str]]

    def received(self) -> list[BucketEvent | None]:
        found = [read_event(json.loads(body)) for body in self.bodies()]
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
        ReindexMaterial(material="b", reason="learns.yml changed"),
        ReindexMaterial(material="junior/二次方程式の解き方_教材", reason="learns.yml changed"),
    ]


def test_no_material_is_no_message_and_no_error(both: Both) -> None:
    both.queue.reindex([], reason="nothing")
    assert both.received() == []


def test_any_number_of_materials_arrives(both: Both) -> None:
    materials = [f"page-{number:02}" for number in range(23)]
    both.queue.reindex(set(materials), reason="new model", attempt=2)
    assert both.received() == [
        ReindexMaterial(material=material, reason="new model", attempt=2) for material in materials
    ]


def test_each_key_that_is_to_be_checked_again_is_a_message_of_its_own(both: Both) -> None:
    keys = ["b.html", 'junior/"二次" %20+の.html', "synonyms.yml"]
    both.queue.recheck(keys, reason="reconcile")
    both.queue.recheck([], reason="nothing")
    found = both.received()
    assert len(found) == len(keys)
    assert set(found) == {RecheckKey(key=key, reason="reconcile") for key in keys}


# ---------------------------------------------------------------- messages that only the product's own queues send


def one_body(sqs: ModelledSqs) -> dict[str, object]:
    (message,) = sqs.messages
    body: dict[str, object] = json.loads(message.body)
    return body


def test_a_delayed_message_is_held_back() -> None:
    sqs = ModelledSqs()
    MaterialQueue(SqsQueue(sqs, "materials")).reindex(["a"], reason="provisional", delay_seconds=300)
    assert [message.visible_at - sqs.now for message in sqs.messages] == [300]


@mock_aws
def test_a_queue_that_does_not_take_messages_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    nowhere = SqsQueue(boto3.client("sqs"), "https://sqs.us-east-1.amazonaws.com/123456789012/nowhere")
    with pytest.raises(Unavailable):
        MaterialQueue(nowhere).reindex(["a"], reason="lost")


@pytest.mark.parametrize(
    "subject",
    [
        WorkSubject("material", "junior/a"),
        WorkSubject("file", "a.html", version_id="v1", sequencer="0A", removed=True),
        WorkSubject("file", "learns.yml"),
    ],
)
def test_a_page_or_file_that_waited_is_asked_for_as_what_it_was(subject: WorkSubject) -> None:
    sqs = ModelledSqs()
    MaterialQueue(SqsQueue(sqs, "materials")).resume(subject)
    event = read_event(one_body(sqs))
    assert isinstance(event, ReindexMaterial | RecheckKey)
    assert event.resumed
    assert subject_of_event(event) == subject


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("fingerprint", ["", "an index"])
def test_work_on_tables_names_its_table_and_its_index(resumed: bool, fingerprint: str) -> None:
    sqs = ModelledSqs()
    queues = TableQueues(SqsQueue(sqs, "tools"), SqsQueue(sqs, "embeds"), fingerprint)
    table = {"project_id": PROJECT, "table_id": TABLE, "fingerprint": fingerprint or None, "resumed": resumed}
    queues.index(PROJECT, TABLE, generation=3, skip=2000, resumed=resumed)
    assert tool_message(one_body(sqs)) == ScanRequest(**table, generation=3, skip=2000)
    sqs.messages.clear()
    queues.embed(PROJECT, TABLE, [["a", "b"], ["c"]], resumed=resumed)
    found = [embed_message(json.loads(message.body)) for message in sqs.messages]
    assert found == [EmbedRequest(**table, chunks=chunks) for chunks in (["a", "b"], ["c"])]
    assert {message.queue for message in sqs.messages} == {"embeds"}


def test_a_document_that_waited_is_asked_for_by_its_key() -> None:
    sqs, key = ModelledSqs(), f"tables/{PROJECT}/{TABLE}/7.json"
    TableQueues(SqsQueue(sqs, "tools"), SqsQueue(sqs, "embeds")).import_document(key)
    assert tool_message(one_body(sqs)) == DocumentUploaded(PROJECT, TABLE, 7, key, resumed=True)
