"""Failures, late writes, refused texts and stalls: repaired. `tests/convergence` kills and interleaves workers."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from sakuin.errors import Refused, Unavailable
from sakuin.limits import Limits
from sakuin.platform.waiting import WorkRecords, WorkRow
from sakuin.tables.nodes import namespace
from sakuin_local.supabase.database import Database

from tests.convergence.passing import time_passes_in
from tests.doubles.chunk_store import WatchedStore
from tests.doubles.queue import MemoryQueues
from tests.worlds import TableWorld, long, world_of

A, B, C = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")


def down() -> None:
    raise Unavailable("turbopuffer did not answer")


def texts(world: TableWorld, endpoint: str) -> set[str]:
    return {hit.chunk.chunk_text[:4] for hit in world.search(endpoint, "説明", top_k=50).results}


def scanned(world: TableWorld) -> list[tuple[Any, ...]]:
    """Delivers the scan; returns its messages."""
    world.deliver(world.queues.asked.pop(0))
    return taken(world)


def taken(world: TableWorld) -> list[tuple[Any, ...]]:
    """Takes the messages out of the queues."""
    asked = list(world.queues.asked)
    world.queues.asked.clear()
    return asked


def test_a_write_that_a_newer_version_overtook_is_taken_back(world: TableWorld) -> None:
    table, _, endpoint = world.documented({"a": A})
    (message,) = scanned(world)

    def overtaken() -> None:
        world.replace(table, {"a": B})
        world.settle()

    late = replace(world, store=WatchedStore(world.store, before={"upsert": overtaken}))
    late.deliver(message)
    assert texts(world, endpoint) == {B[:4]}
    assert len(world.rows(table)) == 2


def test_a_late_write_for_a_deleted_table_is_taken_back(world: TableWorld) -> None:
    table, _, _ = world.documented({"a": A})
    (message,) = scanned(world)
    deleted = partial(world.call, "delete_table", table=table)
    replace(world, store=WatchedStore(world.store, before={"upsert": deleted})).deliver(message)
    assert world.rows(table) == {}


# ---------------------------------------------------------------- a reindex stores lost chunks again, from kept vectors


def reindexed(world: TableWorld, table: str, tool: str) -> list[tuple[Any, ...]]:
    """Requests a reindex and scans; returns the messages of the scan."""
    world.call("reindex_tool", tool=tool)
    world.scan(world.project, table)
    return taken(world)


def counts(world: TableWorld, tool: str) -> tuple[Any, ...]:
    status = world.status(tool)
    return status["state"], status["indexed_chunks_count"], status["chunks_count"]


def test_a_namespace_that_was_lost_is_built_again_and_no_text_is_embedded_for_it(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B})
    rows, embedded = world.rows(table).keys(), list(world.embedder.embedded)
    readings = "select reading, written, chunks from table_reading where table_id = %s order by 1, 2"
    counted = world.sql(readings, table)
    world.store.delete_namespace(namespace(world.project, table))
    assert world.found(endpoint) == set()
    ((_, project, asked, ids),) = reindexed(world, table, tool)
    world.sql(
        "update tool set metadata = jsonb_set(metadata, '{search_index,heartbeat_at}',"
        " to_jsonb(now() - interval '1 h')) where id = %s",
        tool,
    )
    # The status counts what is stored again.
    for stored, state in ((1, "indexing"), (4, "ready")):
        world.deliver(("embed", project, asked, ids[:stored]))
        assert counts(world, tool) == (state, stored, 4)
    assert world.found(endpoint) == {"/a", "/b"}
    assert world.rows(table).keys() == rows
    assert world.embedder.embedded == embedded
    assert world.sql(readings, table) == counted


def test_only_a_reindex_looks_and_only_once_and_writes_nothing_where_nothing_was_lost(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": A})
    rows = world.rows(table)
    world.store = WatchedStore(world.store, before={"ids": down})
    world.queues.index(world.project, table)
    world.settle()
    with pytest.raises(Unavailable):
        reindexed(world, table, tool)
    world.store = world.store.real
    assert reindexed(world, table, tool) == []
    assert (world.status(tool)["state"], world.rows(table)) == ("ready", rows)
    world.store = WatchedStore(world.store, before={"ids": down})
    assert world.scan(world.project, table).outcome == "scanned"


GOOD, POISON = long("二次方程式の解の公式", 300), long("毒入りの文章", 300)

REASON = "The embedding service refused the request with 400"


@pytest.fixture
def poisoned(world: TableWorld) -> TableWorld:
    world.embedder.poisons = {"毒入り"}
    return world


def skipped(world: TableWorld, tool: str) -> list[tuple[str, str]]:
    status = world.status(tool)
    # Without a node that can be found a Tool is empty.
    assert status["state"] == ("ready" if status["indexed_chunks_count"] else "empty")
    return [(node["json_pointer"], node["reason"]) for node in status["skipped_nodes"]]


def test_a_refused_node_is_skipped_until_its_text_changes_and_its_neighbours_answer(poisoned: TableWorld) -> None:
    table, tool, endpoint = poisoned.indexed({"a": GOOD, "b": POISON, "c": long("一次関数の傾き", 300)})
    calls = poisoned.embedder.calls

    def then(document: dict[str, Any], *found: str) -> list[tuple[str, str]]:
        poisoned.replace(table, document)
        poisoned.settle()
        assert poisoned.found(endpoint) == set(found)
        status = poisoned.status(tool)
        assert status["indexed_chunks_count"] == status["chunks_count"] == len(poisoned.rows(table))
        return skipped(poisoned, tool)

    assert skipped(poisoned, tool) == [("/b", REASON)]
    # The same text is not asked about again.
    assert then({"a": GOOD, "b": POISON}, "/a") == [("/b", REASON)]
    assert poisoned.embedder.calls == calls
    assert then({"a": GOOD, "b": long("新しい文章", 300)}, "/a", "/b") == []
    # Older text does not answer for a refused one.
    assert then({"a": GOOD, "b": POISON + "。"}, "/a") == [("/b", REASON)]
    assert then({"a": GOOD}, "/a") == []


def test_one_refused_chunk_takes_its_whole_node_also_what_was_stored_of_it(poisoned: TableWorld) -> None:
    text = long("三平方の定理", 30_000) + POISON
    table, tool, endpoint = poisoned.indexed({"a": GOOD, "b": text})
    assert skipped(poisoned, tool) == [("/b", REASON)]
    assert poisoned.found(endpoint) == {"/a"}
    assert len(poisoned.rows(table)) == poisoned.status(tool)["chunks_count"]


def test_a_tool_speaks_only_of_what_is_in_its_scope(poisoned: TableWorld) -> None:
    table = poisoned.table({"a": {"x": GOOD}, "b": {"x": POISON}})
    inside, outside = poisoned.tool(table, "/b", "inside"), poisoned.tool(table, "/a", "outside")
    poisoned.settle()
    assert skipped(poisoned, inside) == [("/b/x", REASON)]
    assert skipped(poisoned, outside) == []


def test_a_service_that_refuses_everything_skips_nothing(world: TableWorld) -> None:
    world.embedder.poisons = {""}
    _, tool, _ = world.documented({"a": GOOD})
    with pytest.raises(Refused, match="whatever the text"):
        world.settle()
    assert world.status(tool)["state"] == "indexing"


def test_a_table_over_a_limit_is_an_error_and_its_last_version_answers(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": long("数列")})
    world.replace(table, {key: long(f"行列{key}") for key in "abc"})
    world.queues.asked.clear()
    for limits, sentence in (
        (Limits(table_strings=2), "That would be 3 large strings; the limit is 2 (table_strings)."),
        (Limits(table_chunks=5), "That would be 6 chunks; the limit is 5 (table_chunks)."),
    ):
        scan = replace(world.scan, limits=limits)
        assert scan(world.project, table).outcome == "unreadable"
        status = world.status(tool)
        assert (status["state"], sentence in status["last_error"]) == ("error", True), status
        assert world.found(endpoint) == {"/a"}
    scan = replace(world.scan, limits=Limits(table_strings=3, table_chunks=6, string_chars=1200))
    assert scan(world.project, table).outcome == "scanned"
    world.settle()
    assert world.status(tool)["last_error"] is None


NO_STORE = "http://127.0.0.1:9"


@dataclass
class Stalled:
    """A Table with a Tool, whose messages are lost."""

    world: TableWorld
    dsn: str
    table: str = ""
    tool: str = ""
    has_backlog: bool = False

    def __post_init__(self) -> None:
        self.table = self.world.table({"a": "b"})
        self.tool = self.world.tool(self.table, "")
        self.queues.asked.clear()

    @property
    def queues(self) -> MemoryQueues:
        return self.world.queues

    def passes(self, seconds: int) -> None:
        time_passes_in(self.dsn, seconds)

    def restarted(self) -> int:
        """Returns how many Tables maintenance restarts."""
        restart: Any = self.world.maintenance.restart_tables
        return int(replace(restart, has_backlog=lambda: self.has_backlog)())


@pytest.fixture
def stalled(empty_database: Database) -> Stalled:
    return Stalled(world_of(empty_database, NO_STORE), empty_database.dsn_postgres)


def test_where_there_is_no_message_two_minutes_without_a_sign_are_enough(stalled: Stalled) -> None:
    stalled.passes(100)
    assert stalled.restarted() == 0
    stalled.passes(25)
    assert stalled.restarted() == 1
    assert stalled.queues.asked == [("index", stalled.world.project, stalled.table, None, 0)]


def test_where_there_are_messages_the_table_s_may_be_among_them(stalled: Stalled) -> None:
    stalled.has_backlog = True
    stalled.passes(800)
    assert stalled.restarted() == 0
    stalled.passes(105)
    assert stalled.restarted() == 1


def test_two_at_once_restart_it_once(stalled: Stalled) -> None:
    stalled.passes(130)
    assert [stalled.restarted(), stalled.restarted()] == [1, 0]


def test_a_table_whose_message_comes_again_is_not_restarted(stalled: Stalled, records: WorkRecords) -> None:
    row = WorkRow("table", stalled.table, stalled.table)
    for _ in range(3):
        stalled.passes(600)
        records.wait(row, "m1", since=datetime.now(UTC).isoformat(), reason="tomorrow", vendor=None, seconds=600)
        stalled.has_backlog = True
        assert stalled.restarted() == 0


def test_after_five_restarts_without_success_its_tools_say_so(stalled: Stalled) -> None:
    restarted = []
    for _ in range(6):
        stalled.passes(130)
        restarted.append(stalled.restarted())
    assert restarted == [1, 1, 1, 1, 1, 0]
    status = stalled.world.status(stalled.tool)
    assert status["state"] == "error"
    assert status["last_error"].startswith("Its indexing was started 5 times and stalled each time. Send it again with")
    assert len(stalled.queues.asked) == 5


WRONG = [
    {"search_index": {"state": "indexing", "heartbeat_at": "soon", "configured_at": "soon"}},
    {"search_index": {"state": "indexing", "heartbeat_at": "2026-13-45", "configured_at": 7}},
    {"search_index": {"state": "pending", "heartbeat_at": {}, "configured_at": [], "attempt": "many"}},
    {"search_index": {"state": "ready", "chunks_count": "many", "attempt": 1.5, "generation": "x"}},
    {"search_index": {"state": "ready", "chunks_count": 10**30}},
    {"search_index": "soon"},
    {"search_index": None},
    "soon",
    [],
]


def test_a_wrong_status_hides_no_table_and_the_next_scan_corrects_it(world: TableWorld) -> None:
    still = world.table({"a": long("止")})
    world.tool(still, "")
    world.queues.asked.clear()
    old = "jsonb_set(metadata, '{search_index,configured_at}', to_jsonb(now() - interval '1 hour'))"
    world.sql(f"update tool set metadata = {old} where table_id = %s", still)
    table, tool, _ = world.indexed({"a": long("隣", 300)})
    for number, metadata in enumerate(WRONG):
        world.sql("update tool set metadata = %s where id = %s", Jsonb(metadata), tool)
        assert still in {stalled for _, stalled in world.index.stalled_tables(120)}, metadata
        world.replace(table, {"a": long(f"直{number}", 300)})
        world.settle()
        status = world.status(tool)
        indexed = status["state"], status["chunks_count"], status["indexed_chunks_count"], status["attempt"]
        assert indexed == ("ready", 1, 1, 0), metadata
