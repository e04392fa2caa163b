"""What the queues of Tables take, and what they refuse."""

import json
from typing import Any

import pytest
from sakuin.entrypoints.tool_messages import EVENTS, BodyArrived, EmbedAsked, Heard, IndexAsked, embed_work, tool_work
from sakuin.errors import Invalid

from tests.entrypoints.events import event

PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"
IDS = {"project_id": PROJECT, "table_id": TABLE}


def body(name: str) -> str:
    return str(event(name)["Records"][0]["body"])


def uploaded(*keys: str) -> str:
    message = json.loads(body("index_tool.body"))
    record = message["Records"][0]
    message["Records"] = [
        {**record, "s3": {**record["s3"], "object": {**record["s3"]["object"], "key": key}}} for key in keys
    ]
    return json.dumps(message)


def test_the_recorded_event_asks_for_its_table() -> None:
    assert tool_work(body("index_tool.event")) == [Heard(**IDS)]


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_asks_for_a_walk_and_carries_nothing_but_ids(name: str) -> None:
    sent = {"detail-type": name, "source": "a platform", "detail": {**IDS, "tool_id": None, "data": "ignored"}}
    assert tool_work(json.dumps(sent)) == [Heard(**IDS)]


def test_the_recorded_upload_is_a_table_s_body() -> None:
    assert tool_work(body("index_tool.body")) == [BodyArrived(PROJECT, TABLE, 1, f"tables/{PROJECT}/{TABLE}/1.json")]


def test_several_objects_come_in_their_order_and_what_is_no_body_is_left_out() -> None:
    first, second = (f"tables/{PROJECT}/{TABLE}/{number}.json" for number in (7, 12))
    message = uploaded(first, "tables/readme.txt", f"{first}.bak", second.replace("/", "%2F"))
    assert [arrived.upload for arrived in tool_work(message) if isinstance(arrived, BodyArrived)] == [7, 12]


def test_the_test_event_of_s3_asks_for_nothing() -> None:
    assert tool_work(body("index_material.test_event")) == []


def test_a_walk_that_goes_on_says_where() -> None:
    asked = tool_work(json.dumps({"index": {**IDS, "generation": 3, "skip": 2000}}))
    assert asked == [IndexAsked(**IDS, generation=3, skip=2000)]


def test_the_recorded_batch_names_its_chunks() -> None:
    asked = embed_work(body("embed_chunks.batch"))
    assert isinstance(asked, EmbedAsked)
    assert (asked.project_id, asked.table_id, len(asked.chunks)) == (PROJECT, TABLE, 3)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        json.dumps({"detail-type": "TableCreated", "detail": IDS}),
        json.dumps({"detail-type": "ToolCreated", "detail": {"project_id": PROJECT}}),
        json.dumps({"detail-type": "ToolCreated", "detail": {**IDS, "table_id": "x"}}),
        json.dumps({"detail-type": "ToolCreated", "detail": {**IDS, "tool_id": 5}}),
        json.dumps({"index": {**IDS, "skip": -1}}),
        json.dumps({"index": None}),
        json.dumps({"Records": [{}]}),
    ],
    ids=lambda message: message[:60],
)
def test_anything_else_in_the_tool_queue_is_refused_with_a_reason(message: str) -> None:
    with pytest.raises(Invalid, match="The message is not"):
        tool_work(message)


@pytest.mark.parametrize("asked", [None, {}, IDS, {**IDS, "chunks": "x"}, {**IDS, "chunks": ["a"] * 1001}])
def test_anything_else_in_the_embed_queue_is_refused_with_a_reason(asked: Any) -> None:
    with pytest.raises(Invalid, match="The message is not"):
        embed_work(json.dumps({"embed": asked}))
