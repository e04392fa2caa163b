"""Valid and invalid messages of the queues of Tables."""

import json
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.tables.messages import EVENTS, DocumentUploaded, ScanRequest, embed_message, tool_message

from tests.events import event

PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"
IDS = {"project_id": PROJECT, "table_id": TABLE}


def sample(name: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(event(name)["Records"][0]["body"])
    return message


def uploaded(*keys: str) -> dict[str, Any]:
    message = sample("index_tool.body")
    record = message["Records"][0]
    message["Records"] = [
        {**record, "s3": {**record["s3"], "object": {**record["s3"]["object"], "key": key}}} for key in keys
    ]
    return message


def test_each_sample_is_read() -> None:
    assert tool_message(sample("index_tool.event")) == ScanRequest(**IDS, for_event=True)
    key = f"tables/{PROJECT}/{TABLE}/1.json"
    assert tool_message(sample("index_tool.body")) == DocumentUploaded(PROJECT, TABLE, 1, key)
    batch = embed_message(sample("embed_chunks.batch"))
    assert (batch.project_id, batch.table_id, len(batch.chunks)) == (PROJECT, TABLE, 3)
    # S3's test event asks for nothing.
    assert tool_message(sample("index_material.test_event")) is None


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_asks_for_a_scan_and_carries_nothing_but_ids(name: str) -> None:
    sent = {"detail-type": name, "source": "a platform", "detail": {**IDS, "tool_id": None, "data": "ignored"}}
    assert tool_message(sent) == ScanRequest(**IDS, for_event=True)


def test_a_key_is_decoded() -> None:
    asked = tool_message(uploaded(f"tables/{PROJECT}/{TABLE}/12.json".replace("/", "%2F")))
    assert isinstance(asked, DocumentUploaded)
    assert asked.upload == 12


def test_several_records_in_a_message_are_refused_and_none_is_dropped() -> None:
    first, second = (f"tables/{PROJECT}/{TABLE}/{number}.json" for number in (7, 12))
    with pytest.raises(Invalid, match="has 2 records of S3 instead of one"):
        tool_message(uploaded(first, second))


def test_a_continued_scan_has_its_place() -> None:
    asked = tool_message({"index": {**IDS, "generation": 3, "skip": 2000}})
    assert asked == ScanRequest(**IDS, generation=3, skip=2000)
