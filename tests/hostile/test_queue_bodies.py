"""Bodies of messages that no reader of a queue accepts, or that it reads as something harmless."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.knowledge.messages import ObjectWritten, read_event
from sakuin.platform.queue_handler import parsed_message
from sakuin.tables.messages import embed_message, tool_message

from tests.hostile.pages import INPUTS

ID = "11111111-2222-3333-4444-555555555555"
READERS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (read_event, tool_message, embed_message)
IDS = {"project_id": ID, "table_id": ID}


def record(event_name: object = "ObjectCreated:Put", **stored: object) -> dict[str, object]:
    given = {"key": "a.html", "sequencer": "0A", "versionId": "v1"} | stored
    kept = {name: value for name, value in given.items() if value is not ...}
    return {"eventName": event_name, "s3": {"bucket": {"name": "b"}, "object": kept}}


def body(*records: object) -> dict[str, object]:
    return {"Records": list(records)}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "nonsense",
    [
        *INPUTS["nonsense"],
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 10_000,
        json.dumps({"embed": IDS | {"chunks": ["a"] * 1001}}),
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_what_is_no_message_is_refused_in_a_sentence(read: Callable[[Mapping[str, Any]], Any], nonsense: str) -> None:
    with pytest.raises(Invalid, match="The message is not") as refusal:
        read(parsed_message(nonsense))
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize(
    "wrong",
    [
        *(record(key=1), record(key=None), record(key=...), record(key="\ud800.html"), record(key="%00.html")),
        *(record(sequencer=...), record(sequencer=""), record(sequencer="0x1"), record(sequencer="0" * 65)),
        *(record(sequencer=1), record(versionId=1), record(event_name="s3:Replication:Missed"), record(event_name=1)),
        *(record(event_name="ObjectRestore:Post"), {"s3": {}}, {}, None, 1, [], {"eventName": "ObjectCreated:Put"}),
    ],
    ids=lambda wrong: ascii(json.dumps(wrong))[:60],
)
@pytest.mark.parametrize("read", [read_event, tool_message])
def test_a_record_that_cannot_be_read_is_refused(read: Callable[[Mapping[str, Any]], Any], wrong: object) -> None:
    with pytest.raises(Invalid, match=r"not one that this queue accepts: Records\.0"):
        read(body(wrong))


@pytest.mark.parametrize("sent", ["%ff%fe.html", "%", "%zz.html", "%E3%81.html", "+.html", "%2e%2e%2fa.html"])
def test_a_key_that_is_encoded_wrongly_is_a_key_all_the_same(sent: str) -> None:
    assert isinstance(read_event(body(record(key=sent))), ObjectWritten)


@pytest.mark.parametrize(
    "key",
    [
        *(f"tables/{ID}/{ID}/7.json/../8.json", f"tables/{ID}/{ID}/-1.json", f"tables/{ID}/{ID}/{'9' * 19}.json"),
        *(f"/tables/{ID}/{ID}/7.json", f"tables/../{ID}/7.json", f"tables/{ID}/{ID}/7.json\n", "learns.yml"),
        *("tables/readme.txt", f"tables/{ID}/{ID}/7.json.bak"),
    ],
)
def test_an_object_that_is_no_document_of_a_table_asks_for_nothing(key: str) -> None:
    assert tool_message(body(record(key=key))) is None
