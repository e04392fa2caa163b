"""Messages that the product's queues send: the readers of the queues understand them.

`tests/platform/test_sqs.py` shows that SQS takes them.
"""

import json
from collections.abc import Sequence

import pytest
from sakuin.knowledge.messages import AskLearns, MaterialQueue, RecheckKey, ReindexMaterial, read_event
from sakuin.platform.sqs import SqsQueue
from sakuin.tables.messages import EmbedRequest, ScanRequest, TableQueues, embed_message, tool_message

from tests.doubles.sqs import ModelledSqs

PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"


@pytest.fixture
def sqs() -> ModelledSqs:
    return ModelledSqs()


@pytest.fixture
def queue(sqs: ModelledSqs) -> MaterialQueue:
    return MaterialQueue(SqsQueue(sqs, "materials"))


def bodies(sqs: ModelledSqs) -> list[dict[str, object]]:
    return [json.loads(message.body) for message in sqs.messages]


@pytest.mark.parametrize("materials", [[], ["b", "junior/二次方程式の解き方_教材"], [f"p{n:02}" for n in range(23)]])
def test_each_material_is_a_message_of_its_own(
    sqs: ModelledSqs, queue: MaterialQueue, materials: Sequence[str]
) -> None:
    queue.reindex(materials, reason="learns.yml changed")
    assert [read_event(body) for body in bodies(sqs)] == [
        ReindexMaterial(material=material, reason="learns.yml changed") for material in materials
    ]


def test_a_request_for_learns_names_its_material(sqs: ModelledSqs, queue: MaterialQueue) -> None:
    queue.ask_learns(["junior/二次", "a"])
    assert [read_event(body) for body in bodies(sqs)] == [AskLearns(material="a"), AskLearns(material="junior/二次")]


def test_each_key_to_compare_with_the_bucket_is_a_message_of_its_own(sqs: ModelledSqs, queue: MaterialQueue) -> None:
    keys = ["b.html", 'junior/"二次" %20+の.html', "synonyms.yml"]
    queue.recheck(keys, reason="reconcile")
    queue.recheck([], reason="nothing")
    assert [read_event(body) for body in bodies(sqs)] == [RecheckKey(key=key, reason="reconcile") for key in keys]


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
