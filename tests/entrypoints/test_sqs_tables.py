"""The workers of Tables behind their queues: single failures, and what a tool says after the last one."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from sakuin.adapters.supabase_projects import SupabaseProjects
from sakuin.entrypoints.sqs import Handler
from sakuin.entrypoints.sqs_tables import embed_handler, tool_handler
from sakuin.errors import Unavailable
from sakuin.services.every_index import EmbedEverywhere, IndexEverywhere
from sakuin.services.give_up_table import GiveUpTable
from sakuin.services.import_body import ImportBody

from tests.entrypoints.events import Context, event
from tests.tables.conftest import FINGERPRINT, TableWorld, WatchedStore, long

TEXT = long("二次方程式の解の公式")


@dataclass
class Workers:
    """Both handlers over one world."""

    world: TableWorld
    postponed: list[tuple[str, int]] = field(default_factory=list)

    def tool(self, *bodies: str, tries: int = 1) -> list[str]:
        take = ImportBody(SupabaseProjects(self.world.client), self.world.bodies)
        walk = IndexEverywhere(lambda: {FINGERPRINT.id: self.world.walk})
        return self._deliver(lambda *rest: tool_handler(walk, take, self._fail, *rest), bodies, tries)

    def embed(self, *bodies: str, tries: int = 1) -> list[str]:
        embed = EmbedEverywhere(lambda: {FINGERPRINT.id: self.world.embed})
        return self._deliver(lambda *rest: embed_handler(embed, self._fail, *rest), bodies, tries)

    def _deliver(self, handler: Callable[..., Handler], bodies: tuple[str, ...], tries: int) -> list[str]:
        logger, metrics = Logger(service="test"), Metrics(namespace="Sakuin", service="test")
        made = handler(self._postpone, logger, metrics, Tracer(disabled=True))
        record = event("embed_chunks.batch")["Records"][0]
        record["attributes"]["ApproximateReceiveCount"] = str(tries)
        records = [record | {"messageId": str(number), "body": body} for number, body in enumerate(bodies)]
        return [item["itemIdentifier"] for item in made({"Records": records}, Context())["batchItemFailures"]]

    def _postpone(self, receipt_handle: str, seconds: int) -> None:
        self.postponed.append((receipt_handle, seconds))

    def _fail(self, table_id: str, message: str, _fingerprint: str | None) -> None:
        GiveUpTable(self.world.index)(table_id, message)


@pytest.fixture
def workers(tables: TableWorld) -> Workers:
    return Workers(tables)


def walk(world: TableWorld, table: str) -> str:
    ids = {"project_id": world.project, "table_id": table}
    return json.dumps({"detail-type": "TableUpdated", "detail": ids})


def batches(world: TableWorld) -> list[str]:
    """The embed messages that wait, as they stand in the queue."""
    asked = [
        json.dumps({"embed": {"project_id": message[1], "table_id": message[2], "chunks": list(message[3])}})
        for message in world.queues.asked
        if message[0] == "embed"
    ]
    world.queues.asked.clear()
    return asked


def test_an_event_and_its_batches_make_a_tool_ready(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    assert workers.tool(walk(tables, table)) == []
    assert workers.embed(*batches(tables)) == []
    assert tables.status(tool)["state"] == "ready"


def uploaded(tables: TableWorld, table: str) -> dict[str, Any]:
    """What S3 says of the body that has just come for a Table."""
    tables.call("begin_upload", table=table)
    key = f"tables/{tables.project}/{table}/1.json"
    tables.bodies.bodies[key] = json.dumps({"b": TEXT}).encode()
    tables.queues.asked.clear()
    message: dict[str, Any] = json.loads(event("index_tool.body")["Records"][0]["body"])
    message["Records"][0]["s3"]["object"]["key"] = key
    return message


def test_an_uploaded_body_is_imported_and_walked(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": "small"})
    tool = tables.tool(table, "")
    message = uploaded(tables, table)
    assert workers.tool(json.dumps(message)) == []
    assert workers.embed(*batches(tables)) == []
    assert (tables.status(tool)["state"], tables.found(tables.endpoint(tool))) == ("ready", {"/b"})


def test_a_message_that_fails_is_the_only_one_that_comes_back(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tables.tool(table, "")
    assert workers.tool(walk(tables, table), "not JSON", walk(tables, table)) == ["1"]
    assert workers.embed("{}", *batches(tables)) == ["0"]
    assert tables.rows(table)
    assert [seconds for _, seconds in workers.postponed] == [5, 5]


def test_a_body_that_cannot_be_read_stops_neither_its_neighbours_nor_calls_them_failed(
    workers: Workers, tables: TableWorld
) -> None:
    table = tables.table({"a": "small"})
    tool = tables.tool(table, "")
    message = uploaded(tables, table)
    message["Records"].insert(0, {"eventName": "x"})
    assert workers.tool(json.dumps(message), tries=5) == ["0"]
    assert tables.status(tool)["state"] == "indexing"
    assert workers.embed(*batches(tables)) == []
    assert (tables.status(tool)["state"], tables.found(tables.endpoint(tool))) == ("ready", {"/b"})


def test_a_failure_before_the_last_is_not_shown_on_the_tool(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(walk(tables, table))
    tables.embedder.down = True
    assert workers.embed(*batches(tables), tries=4) == ["0"]
    assert (tables.status(tool)["state"], tables.status(tool).get("last_error")) == ("indexing", None)


def test_the_last_failure_is_said_on_the_tool_and_the_redrive_clears_it(workers: Workers, tables: TableWorld) -> None:
    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(walk(tables, table))
    (message,) = batches(tables)
    tables.embedder.down = True
    assert workers.embed(message, tries=5) == ["0"]
    failed = tables.status(tool)
    assert failed["state"] == "error"
    assert failed["last_error"].startswith("The embedding service did not answer")
    assert "sakuin tool reindex" in failed["last_error"]
    assert "sakuin redrive" in failed["last_error"]
    tables.embedder.down = False
    assert workers.embed(message) == []
    done = tables.status(tool)
    assert (done["state"], done["last_error"]) == ("ready", None)


def test_what_is_unexpected_is_said_without_its_words(workers: Workers, tables: TableWorld) -> None:
    def surprise() -> None:
        raise RuntimeError("postgres://user:secret@host")

    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(walk(tables, table))
    tables.store = WatchedStore(tables.store, before={"upsert": surprise})
    assert workers.embed(*batches(tables), tries=5) == ["0"]
    assert "secret" not in tables.status(tool)["last_error"]
    assert tables.status(tool)["last_error"].startswith("Something unexpected went wrong")


def test_a_walk_that_failed_for_the_last_time_is_said_on_the_tool(workers: Workers, tables: TableWorld) -> None:
    def down() -> None:
        raise Unavailable("turbopuffer did not answer")

    table = tables.table({"a": TEXT})
    tool = tables.tool(table, "")
    workers.tool(walk(tables, table))
    workers.embed(*batches(tables))
    tables.replace(table, {})
    tables.store = WatchedStore(tables.store, before={"delete": down})
    assert workers.tool(walk(tables, table), tries=5) == ["0"]
    assert tables.status(tool)["last_error"].startswith("turbopuffer did not answer")


def test_the_last_failure_of_what_nobody_can_read_concerns_no_tool(workers: Workers) -> None:
    assert workers.tool("not JSON", "{}", tries=5) == ["0", "1"]
    assert workers.embed("not JSON", tries=5) == ["0"]
    assert [seconds for _, seconds in workers.postponed] == [0, 0, 0]


@pytest.mark.parametrize("name", ["index_tool.event", "index_tool.body"])
def test_a_recorded_event_of_a_table_that_is_gone_is_no_failure(workers: Workers, name: str) -> None:
    assert workers.tool(event(name)["Records"][0]["body"]) == []


def test_a_recorded_batch_of_a_table_that_is_gone_is_no_failure(workers: Workers) -> None:
    assert workers.embed(event("embed_chunks.batch")["Records"][0]["body"]) == []
