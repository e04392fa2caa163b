"""A reindex stores lost chunks again, from kept vectors."""

from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.chunk_store import namespace

from tests.doubles.chunk_store import WatchedStore
from tests.worlds import TableWorld, long

A, B, C = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")


def down() -> None:
    raise Unavailable("turbopuffer did not answer")


def reindexed(world: TableWorld, table: str, tool: str) -> list[tuple[Any, ...]]:
    """Requests a reindex and scans; returns the messages of the scan."""
    world.call("reindex_tool", tool=tool)
    world.scan(world.project, table)
    asked = list(world.queues.asked)
    world.queues.asked.clear()
    return asked


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


def test_only_what_is_missing_is_stored_and_the_rest_answers_all_the_while(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B, "c": C})
    lost = [
        row[0]
        for row in world.sql("select turbopuffer_doc_id from chunks where json_pointer = '/b' and table_id = %s", table)
    ]
    world.store.delete(namespace(world.project, table), lost[:1])
    messages = reindexed(world, table, tool)
    assert [len(message[3]) for message in messages] == [1]
    assert world.found(endpoint) == {"/a", "/b", "/c"}
    assert lost[0] not in world.rows(table)
    world.deliver(messages[0])
    assert lost[0] in world.rows(table)
    assert world.status(tool)["state"] == "ready"


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


def test_a_reindex_that_an_edit_overtakes_is_done_by_the_edit_s_scan(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B})
    world.store.delete_namespace(namespace(world.project, table))
    world.call("reindex_tool", tool=tool)
    world.replace(table, {"a": A, "b": C})
    world.settle()
    assert world.found(endpoint) == {"/a", "/b"}
    assert world.status(tool)["state"] == "ready"


def test_a_reindex_that_is_asked_for_during_the_comparison_is_not_lost(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A})

    def lost_after_it_was_looked_at() -> None:
        world.store.real.delete_namespace(namespace(world.project, table))
        world.call("reindex_tool", tool=tool)

    world.store = WatchedStore(world.store, after={"ids": lost_after_it_was_looked_at})
    reindexed(world, table, tool)
    assert world.found(endpoint) == set()
    world.queues.index(world.project, table)
    world.settle()
    assert world.found(endpoint) == {"/a"}
