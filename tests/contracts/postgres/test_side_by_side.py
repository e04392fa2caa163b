"""Workers and callers that do the same thing at the same time."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sakuin.errors import Conflict
from sakuin.platform.embedding import Vector
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.nodes import PublishedNode
from sakuin.tables.postgres import TableIndex
from sakuin_local.supabase.database import Database

from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import FINGERPRINT, vector_of
from tests.worlds import FINGERPRINT as OF_TABLES

# ---------------------------------------------------------------- the same vectors

# Without an order, one of four rounds ends in a deadlock.
_ROUNDS, _VECTORS = 20, 32


def store_in_two_orders(store: Callable[[Mapping[str, Vector]], None]) -> None:
    vector = vector_of("x")
    for number in range(_ROUNDS):
        hashes = [f"{number:032x}{place:032x}" for place in range(_VECTORS)]
        orders = [dict.fromkeys(order, vector) for order in (hashes, hashes[::-1])]
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(store, orders))


def test_workers_store_the_same_vectors_of_pages_in_any_order(knowledge: Knowledge) -> None:
    knowledge.record(FINGERPRINT)
    store_in_two_orders(lambda vectors: knowledge.index.store_vectors(vectors, FINGERPRINT))


def test_workers_store_the_same_vectors_of_tables_in_any_order(knowledge: Knowledge, service: Client) -> None:
    project = call(service, "create_project", {"p_name": "p"})["id"]
    index = TableIndex(service, OF_TABLES)
    store_in_two_orders(lambda vectors: index.store_vectors(project, vectors))


# ---------------------------------------------------------------- the same nodes


def test_workers_record_the_same_swept_nodes_in_any_order(service: Client, sql: psycopg.Connection) -> None:
    project = call(service, "create_project", {"p_name": "p"})["id"]
    table = call(service, "create_table", {"p_project": project, "p_name": "t", "p_data": "{}"})["id"]
    hashes = [f"{place:064x}" for place in range(_VECTORS * 8)]
    sql.execute(
        "insert into node (table_id, fingerprint, pointer_hash, json_pointer, wanted_hash, wanted_generation,"
        " wanted_chunks) select %s, %s, h, '/' || h, h, 1, 1 from unnest(%s::text[]) h",
        (table, OF_TABLES.id, hashes),
    )
    index = TableIndex(service, OF_TABLES)
    orders = [[PublishedNode(name, None, 0) for name in names] for names in (hashes, hashes[::-1])]
    for _ in range(_ROUNDS):
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(lambda nodes: index.mark_swept(table, nodes), orders))


# ---------------------------------------------------------------- the same Table


def test_a_table_that_becomes_complete_does_not_wait_for_a_batch_that_waits_for_it(
    service: Client, sql: psycopg.Connection
) -> None:
    project = call(service, "create_project", {"p_name": "p"})["id"]
    table = call(service, "create_table", {"p_project": project, "p_name": "t", "p_data": "{}"})["id"]
    sql.execute("insert into table_scan (table_id, fingerprint, stored_at) values (%s, 'f', '2026-01-01')", [table])
    scanned = {"p_table": table, "p_fingerprint": "f", "p_stored_at": "2026-01-01T00:00:00Z"}
    with ThreadPoolExecutor(1) as worker, sql.transaction():
        # What a worker locks first that records a batch, and last.
        sql.execute("select from context_table where id = %s for share", [table])
        completed = worker.submit(call, service, "mark_indexed", scanned)
        while sql.execute("select count(*) from pg_locks where not granted").fetchone() == (0,):
            assert not completed.done()
        sql.execute("set local lock_timeout = '1s'")
        sql.execute("update table_scan set stored_chunks = 1 where table_id = %s", [table])
    assert completed.result() is False


APPEND = [{"op": "add", "path": "/list/-", "value": "ours"}]


class Busy:
    """Records of a Table that somebody else changes `times` times, each time right after it was read."""

    def __init__(self, real: ProjectRecords, times: int) -> None:
        self.real, self.left = real, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def document(self, user: None, table_id: str) -> Any:
        read = self.real.document(user, table_id)
        if self.left:
            self.left -= 1
            TableAdmin(self.real, MemoryBucket()).patch(
                user, table_id, [{"op": "add", "path": "/list/-", "value": "theirs"}], expected_version=None
            )
        return read


@pytest.fixture
def records(empty_database: Database, service: Client) -> ProjectRecords:
    return ProjectRecords(service)


@pytest.fixture
def table(records: ProjectRecords) -> str:
    project = records.create_project(None, "p").id
    return records.create_table(None, project, name="t", data='{"list": []}', chunk_threshold_chars=None).id


def test_a_patch_of_any_version_is_made_again_on_what_others_wrote(records: ProjectRecords, table: str) -> None:
    busy: Any = Busy(records, 2)
    admin = TableAdmin(busy, MemoryBucket())
    admin.patch(None, table, APPEND, expected_version=None)
    assert admin.node(None, table, "/list") == ["theirs", "theirs", "ours"]


@pytest.mark.parametrize(("expected", "times"), [(None, 3), (1, 1)])
def test_a_patch_that_others_overtake_again_and_again_or_once_its_version_is_a_conflict(
    records: ProjectRecords, table: str, expected: int | None, times: int
) -> None:
    busy: Any = Busy(records, times)
    with pytest.raises(Conflict):
        TableAdmin(busy, MemoryBucket()).patch(None, table, APPEND, expected_version=expected)
    assert "ours" not in TableAdmin(records, MemoryBucket()).node(None, table, "/list")
