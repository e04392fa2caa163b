"""Failures, kills, late writes and lost chunks: retries and reindexing repair them, and old text never comes back."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.nodes import namespace
from sakuin_local.supabase.database import Database

from tests.doubles.chunk_store import WatchedStore
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


def test_the_previous_version_answers_until_the_new_one_is_stored_and_never_again(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A})
    world.store = WatchedStore(world.store, before={"sweep": down})
    world.replace(table, {"a": B})
    (message,) = scanned(world)
    assert texts(world, endpoint) == {A[:4]}
    with pytest.raises(Unavailable):
        world.deliver(message)
    assert texts(world, endpoint) == {B[:4]}
    assert len(world.rows(table)) == 4
    # The next scan sweeps.
    world.call("reindex_tool", tool=tool)
    world.queues.index(world.project, table)
    world.settle()
    assert len(world.rows(table)) == 2


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


def test_two_workers_at_once_finish_what_one_would(world: TableWorld, database: Database, stand_in: str) -> None:
    table, tool, endpoint = world.documented([f"{text}{n}" for n in range(4) for text in (A, B, C)])
    other = world_of(database, stand_in)
    workers = [world, replace(other, project=world.project, queues=world.queues)]
    with ThreadPoolExecutor(2) as pool:
        while world.queues.asked:
            batch = list(world.queues.asked)
            world.queues.asked.clear()
            jobs = [pool.submit(worker.deliver, message) for message in batch for worker in workers]
            # What the database chose as a victim comes back, as from a queue.
            world.queues.asked += [batch[at // 2] for at, job in enumerate(jobs) if _unavailable(job.exception())]
    status = world.status(tool)
    rows = world.sql("select count(*) from chunks where table_id = %s", table)[0][0]
    assert (status["state"], status["nodes_count"], status["indexed_chunks_count"]) == ("ready", 12, rows)
    assert len(world.rows(table)) == rows
    assert world.found(endpoint) == {f"/{n}" for n in range(12)}


def _unavailable(error: BaseException | None) -> bool:
    if error is not None and not isinstance(error, Unavailable):
        raise error
    return error is not None


def test_a_newer_generation_ends_an_older_scan(world: TableWorld) -> None:
    paged = replace(world, chunks_a_page=1)
    table, tool, endpoint = paged.documented({"a": A, "b": B})
    paged.deliver(paged.queues.asked.pop(0))
    old = next(message for message in paged.queues.asked if message[0] == "index")
    paged.queues.asked.clear()
    paged.replace(table, {"a": C})
    assert paged.scan(*old[1:3], generation=old[3], skip=old[4]).outcome == "superseded"
    paged.settle()
    assert texts(paged, endpoint) == {C[:4]}
    assert paged.status(tool)["state"] == "ready"


def test_a_scan_that_a_newer_generation_overtakes_between_two_steps_plans_nothing(world: TableWorld) -> None:
    table, _, _ = world.documented({"a": A})
    scan = world.index.begin_scan(table, None, skip=0, for_event=False)
    world.replace(table, {"a": B})
    again = world.index.begin_scan(table, scan.generation, skip=0, for_event=False)
    assert (scan.decision, again.decision) == ("scan", "superseded")
    assert world.index.plan_nodes(table, scan.generation, []) is None
    assert (
        world.index.finish_scan(
            table, scan.generation, kept=[], gone=(), more=False, skipped=[], found={}, nodes=1, limit=9
        )
        is None
    )
    world.index.record_failure(table, scan.generation, "An old worker failed.")
    assert world.sql("select metadata->'search_index'->>'state' from tool where table_id = %s", table) == [("pending",)]


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
