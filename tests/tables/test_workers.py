"""The workers of Tables behind their queues: their messages, many events at once, and a Tool after the last failure."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.errors import Invalid, Unavailable
from sakuin.limits import Limits
from sakuin.platform.waiting import WorkRecords
from sakuin.tables.document import written_table
from sakuin.tables.messages import EVENTS, DocumentUploaded, ScanRequest, embed_message, tool_message
from sakuin.tables.nodes import namespace

from tests.doubles.chunk_store import WatchedStore
from tests.doubles.sqs import ModelledSqs
from tests.events import event, s3_message
from tests.worked_queue import WorkedQueue
from tests.worlds import EMBEDS, FINGERPRINT, TOOLS, TableWorld, long

TEXT = long("二次方程式の解の公式")


@dataclass
class Workers:
    world: TableWorld
    records: WorkRecords
    sqs: ModelledSqs = field(default_factory=ModelledSqs)

    def tool(self, *bodies: str, failures: int = 0) -> list[bool]:
        """Delivers messages of the tool queue; returns which are done."""
        return self._deliver(TOOLS, bodies, failures)

    def embed(self, *bodies: str, failures: int = 0) -> list[bool]:
        """Delivers messages of the embed queue; returns which are done."""
        return self._deliver(EMBEDS, bodies, failures)

    @property
    def rows(self) -> list[tuple[str, str]]:
        return [(row.kind, row.reason) for row in self.records.waiting(limit=9).rows]

    def _deliver(self, name: str, bodies: tuple[str, ...], failures: int) -> list[bool]:
        queue = WorkedQueue(self.world.work(name), self.records, self.sqs, name)
        return [queue.deliver(body, failures=failures) for body in bodies]


@pytest.fixture
def workers(tables: TableWorld, records: WorkRecords) -> Workers:
    return Workers(tables, records)


def scan(world: TableWorld, table: str) -> str:
    ids = {"project_id": world.project, "table_id": table}
    return json.dumps({"detail-type": "TableUpdated", "detail": ids})


def batches(world: TableWorld) -> list[str]:
    """Returns the waiting embed messages, as in the queue."""
    asked = [
        {"project_id": message[1], "table_id": message[2], "chunks": list(message[3]), "index_version": FINGERPRINT.id}
        for message in world.queues.asked
        if message[0] == "embed"
    ]
    world.queues.asked.clear()
    return [json.dumps({"embed": one}) for one in asked]


def uploaded(tables: TableWorld, table: str) -> str:
    """Uploads a document; returns the message of S3."""
    tables.call("begin_upload", table=table)
    key = f"tables/{tables.project}/{table}/1.json"
    tables.bodies.write(key, json.dumps({"b": TEXT}).encode())
    tables.queues.asked.clear()
    return json.dumps(s3_message(key))


def test_an_uploaded_document_is_imported_and_scanned(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": "small"})
    tool = tables.tool(table, "")
    assert workers.tool(uploaded(tables, table)) == [True]
    assert workers.embed(*batches(tables)) == [True]
    assert (tables.status(tool)["state"], tables.found(tables.endpoint(tool))) == ("ready", {"/b"})


def test_a_published_node_is_not_written_again(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tables.tool(table, "")
    workers.tool(scan(tables, table))
    workers.embed(*batches(tables))
    rows = "select ctid::text, pointer_hash from node where table_id = %s and generation = wanted_generation"
    ((place, pointer),) = tables.sql(rows, table)
    # As a second worker that stored the same chunks.
    tables.sql("select publish_nodes(%s, %s, array[%s])", table, FINGERPRINT.id, pointer)
    assert tables.sql(rows, table) == [(place, pointer)]


def test_the_last_failure_is_an_error_of_the_tool_until_the_redrive(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(scan(tables, table))
    (message,) = batches(tables)
    tables.embedder.down = True
    assert (workers.embed(message, failures=4), len(workers.sqs.dead)) == ([True], 1)
    failed = tables.status(tool)
    assert failed["state"] == "error"
    assert failed["last_error"].startswith("The embedding service did not answer")
    assert "sakuin tool change --reindex" in failed["last_error"]
    assert "sakuin redrive" in failed["last_error"]
    assert workers.rows == []
    tables.embedder.down = False
    assert workers.embed(message) == [True]
    done = tables.status(tool)
    assert (done["state"], done["last_error"], workers.rows) == ("ready", None, [])


def test_the_last_failure_of_a_scan_is_an_error_of_the_tool(workers: Workers, tables: TableWorld) -> None:
    def down() -> None:
        raise Unavailable("turbopuffer did not answer")

    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(scan(tables, table))
    workers.embed(*batches(tables))
    tables.replace(table, {})
    tables.store = WatchedStore(tables.store, before={"sweep": down})
    assert (workers.tool(scan(tables, table), failures=4), len(workers.sqs.dead)) == ([True], 1)
    assert tables.status(tool)["last_error"].startswith("turbopuffer did not answer")


PROJECT, TABLE = "0b1f6a52-3c9e-4d57-8a41-6f0e2d9c7b10", "7c2d4e86-19ab-4f03-b5d8-92e4a6c01f35"

IDS = {"project_id": PROJECT, "table_id": TABLE}


def sample(name: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(event(name)["Records"][0]["body"])
    return message


def uploaded_keys(*keys: str) -> dict[str, Any]:
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
    asked = tool_message(uploaded_keys(f"tables/{PROJECT}/{TABLE}/12.json".replace("/", "%2F")))
    assert isinstance(asked, DocumentUploaded)
    assert asked.upload == 12


def test_several_records_in_a_message_are_refused_and_none_is_dropped() -> None:
    first, second = (f"tables/{PROJECT}/{TABLE}/{number}.json" for number in (7, 12))
    with pytest.raises(Invalid, match="has 2 records of S3 instead of one"):
        tool_message(uploaded_keys(first, second))


def test_a_continued_scan_has_its_place() -> None:
    asked = tool_message({"index": {**IDS, "generation": 3, "skip": 2000}})
    assert asked == ScanRequest(**IDS, generation=3, skip=2000)


FIVE = [long(f"その{number}", 300) for number in range(5)]

SCANNED = ("page", "scanned")


@dataclass
class Line:
    """The tool queue of a world with pages of two strings: events first, messages of scans behind them."""

    world: TableWorld
    table: str
    outcomes: list[str] = field(default_factory=list)

    def hear(self, times: int = 1) -> list[str]:
        """Delivers so many events and all messages after them; returns the outcome of each."""
        self.outcomes = []
        for _ in range(times):
            self._scanned(for_event=True)
        while self.world.queues.asked:
            message = self.world.queues.asked.pop(0)
            if message[0] == "index":
                self._scanned(generation=message[3], skip=message[4])
            else:
                self.world.deliver(message)
        return self.outcomes

    def _scanned(self, **asked: Any) -> None:
        self.outcomes.append(self.world.scan(self.world.project, self.table, **asked).outcome)


@pytest.fixture
def line(world: TableWorld) -> Line:
    world.chunks_a_page = 2
    table = world.table(FIVE)
    world.tool(table, "")
    world.queues.asked.clear()
    return Line(world, table)


def tool_of(line: Line) -> str:
    (found,) = line.world.call("list_tools", project=line.world.project)
    return str(found["id"])


def test_many_events_of_one_generation_scan_each_page_once(line: Line) -> None:
    outcomes = line.hear(6)
    assert [outcome for outcome in outcomes if outcome in SCANNED] == ["page", "page", "scanned"]
    assert len(outcomes) == 8
    assert line.world.status(tool_of(line))["state"] == "ready"
    assert line.world.found(line.world.endpoint(tool_of(line))) == {f"/{number}" for number in range(5)}
    assert line.hear(6) == ["superseded"] * 6


def test_a_page_is_as_many_strings_as_changed(line: Line) -> None:
    line.hear()
    line.world.call(
        "replace_table",
        table=line.table,
        data=written_table([FIVE[0], long("新しい甲", 300), FIVE[2], long("新しい乙", 300), long("新しい丙", 300)]),
        expected_version=None,
    )
    assert line.hear() == ["page", "scanned"]
    assert line.world.status(tool_of(line))["state"] == "ready"


def test_an_event_long_after_an_unfinished_scan_starts_again(line: Line) -> None:
    line.world.scan(line.world.project, line.table, for_event=True)
    line.world.queues.asked.clear()
    line.world.sql("update table_scan set current_at = now() - interval '1 hour' where table_id = %s", line.table)
    assert line.hear() == ["page", "page", "scanned"]
    line.world.sql("update table_scan set current_at = now() - interval '1 hour' where table_id = %s", line.table)
    assert line.hear() == ["superseded"]


def test_a_reindex_compares_the_store_and_is_scanned_once_for_many_events(line: Line) -> None:
    line.hear()
    lost = list(line.world.rows(line.table))
    line.world.store.delete(namespace(line.world.project, line.table), lost, generation=10**6)
    assert line.world.rows(line.table) == {}
    for _ in range(4):
        line.world.call("reindex_tool", tool=tool_of(line))
    outcomes = line.hear(4)
    assert len([outcome for outcome in outcomes if outcome in SCANNED]) == 3
    assert sorted(line.world.rows(line.table)) == sorted(lost)


def test_a_table_that_cannot_be_indexed_is_read_once_for_many_events(line: Line) -> None:
    strict = replace(line.world.scan, limits=Limits(table_strings=1))
    outcomes = [strict(line.world.project, line.table, for_event=True).outcome for _ in range(3)]
    assert outcomes == ["unreadable", "superseded", "superseded"]
    assert line.world.status(tool_of(line))["state"] == "error"
