"""The workers of Tables behind their queues, and the status of a Tool after the last failure."""

import json
from dataclasses import dataclass, field

import pytest
from sakuin.errors import Unavailable
from sakuin.platform.unfinished_work import UnfinishedWorkStore

from tests.doubles.chunk_store import WatchedStore
from tests.doubles.sqs import ModelledSqs
from tests.events import event, s3_message
from tests.worked_queue import WorkedQueue
from tests.worlds import EMBEDS, FINGERPRINT, TOOLS, TableWorld, long

TEXT = long("二次方程式の解の公式")


@dataclass
class Workers:
    world: TableWorld
    unfinished: UnfinishedWorkStore
    sqs: ModelledSqs = field(default_factory=ModelledSqs)

    def tool(self, *bodies: str, receives: int = 1) -> list[bool]:
        """Delivers messages of the tool queue; returns which are done."""
        return self._deliver(TOOLS, bodies, receives)

    def embed(self, *bodies: str, receives: int = 1) -> list[bool]:
        """Delivers messages of the embed queue; returns which are done."""
        return self._deliver(EMBEDS, bodies, receives)

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        return [(row.kind, row.state, row.reason) for row in self.unfinished.rows()]

    def _deliver(self, name: str, bodies: tuple[str, ...], receives: int) -> list[bool]:
        queue = WorkedQueue(self.world.work(name), self.unfinished, self.sqs, name)
        return [queue.deliver(body, receives=receives) for body in bodies]


@pytest.fixture
def workers(tables: TableWorld, unfinished: UnfinishedWorkStore) -> Workers:
    return Workers(tables, unfinished)


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


def test_a_failure_before_the_last_is_not_shown_on_the_tool(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(scan(tables, table))
    tables.embedder.down = True
    assert workers.embed(*batches(tables), receives=4) == [False]
    assert (tables.status(tool)["state"], tables.status(tool).get("last_error")) == ("indexing", None)
    assert workers.rows == [("table", "retrying", "The embedding service did not answer")]


def test_the_last_failure_is_an_error_of_the_tool_until_the_redrive(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(scan(tables, table))
    (message,) = batches(tables)
    tables.embedder.down = True
    assert (workers.embed(message, receives=5), len(workers.sqs.dead)) == ([True], 1)
    failed = tables.status(tool)
    assert failed["state"] == "error"
    assert failed["last_error"].startswith("The embedding service did not answer")
    assert "sakuin tool reindex" in failed["last_error"]
    assert "sakuin redrive" in failed["last_error"]
    assert workers.rows == [("table", "failed", "The embedding service did not answer")]
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
    tables.store = WatchedStore(tables.store, before={"delete": down})
    assert (workers.tool(scan(tables, table), receives=5), len(workers.sqs.dead)) == ([True], 1)
    assert tables.status(tool)["last_error"].startswith("turbopuffer did not answer")


def test_a_sample_of_a_table_that_is_gone_is_no_failure(workers: Workers) -> None:
    scans = [event(name)["Records"][0]["body"] for name in ("index_tool.event", "index_tool.body")]
    assert workers.tool(*scans) == [True, True]
    assert workers.embed(event("embed_chunks.batch")["Records"][0]["body"]) == [True]
