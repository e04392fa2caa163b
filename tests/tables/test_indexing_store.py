"""Tables while turbopuffer indexes what it stored: they are not ready, and nothing is taken for lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.nodes import namespace
from sakuin.tables.reconcile import KeptIndex, ReconcileTables
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.store import Store

from tests.worlds import TableWorld, long, world_of

A, B = long("二次方程式の解の公式"), long("三平方の定理")


@pytest.fixture
def late(tmp_path: Path) -> Store:
    """A store that indexes what is written only when it is told to."""
    store = Store(tmp_path / "turbopuffer.sqlite")
    store.waits = True
    return store


@pytest.fixture
def world(empty_database: Database, late: Store) -> Iterator[TableWorld]:
    with served(application(late)) as port:
        yield world_of(empty_database, f"http://127.0.0.1:{port}")


def test_a_table_is_ready_when_the_store_has_indexed_it(world: TableWorld, late: Store) -> None:
    _, tool, endpoint = world.indexed({"a": A, "b": B})
    status = world.status(tool)
    assert (status["state"], "indexed_at" in status, status["indexed_chunks_count"]) == ("indexing", False, 4)
    # What is stored is found, as far as the store shows it.
    assert world.found(endpoint) == {"/a", "/b"}
    assert world.maintain()["completed"] == 0
    late.index()
    assert world.maintain()["completed"] == 1
    assert world.status(tool)["state"] == "ready"
    assert world.maintain()["completed"] == 0


def test_a_table_that_searches_do_not_see_yet_is_neither_ready_nor_stalled(world: TableWorld, late: Store) -> None:
    table, tool, endpoint = world.indexed({"a": A})
    late.index()
    world.maintain()
    late.hides = True
    world.replace(table, {"a": A, "b": B})
    world.settle()
    assert world.found(endpoint) == {"/a"}
    assert world.status(tool)["state"] == "indexing"
    assert world.index.stalled_tables(-1) == []
    assert world.maintain()["restarted"] == 0
    late.index()
    world.maintain()
    assert (world.found(endpoint), world.status(tool)["state"]) == ({"/a", "/b"}, "ready")


def test_the_last_batch_completes_a_table_that_is_indexed_already(world: TableWorld, late: Store) -> None:
    _, tool, _ = world.documented({"a": A, "b": B})
    world.deliver(world.queues.asked.pop(0))
    batch = world.queues.asked.pop()
    world.deliver((*batch[:3], batch[3][:-1]))
    late.index()
    # The store has nothing to index when the message comes again.
    world.deliver(batch)
    assert world.status(tool)["state"] == "indexing"
    late.index()
    world.deliver(batch)
    assert world.status(tool)["state"] == "ready"


def test_what_is_stored_after_the_store_was_asked_has_to_be_indexed_too(world: TableWorld) -> None:
    table, tool, _ = world.indexed({"a": A})
    [before] = world.index.unindexed_tables()
    world.replace(table, {"a": B})
    world.settle()
    assert not world.index.mark_indexed(before)
    [after] = world.index.unindexed_tables()
    assert world.index.mark_indexed(after)
    assert world.status(tool)["state"] == "ready"


def test_a_reindex_is_not_compared_before_the_store_has_indexed_everything(world: TableWorld, late: Store) -> None:
    table, tool, endpoint = world.documented({"a": A})
    late.hides = True
    world.settle()
    world.call("reindex_tool", tool=tool)
    with pytest.raises(Unavailable, match="still indexes") as waits:
        world.scan(world.project, table)
    assert (waits.value.namespace, waits.value.retry_after) == (namespace(world.project, table), 60)
    late.index()
    world.scan(world.project, table)
    # Nothing is stored again.
    assert world.queues.asked == []
    assert (world.found(endpoint), world.status(tool)["state"]) == ({"/a"}, "ready")


def test_hidden_rows_are_not_taken_for_lost(world: TableWorld, late: Store) -> None:
    table, _, _ = world.documented({"a": A})
    late.hides = True
    world.settle()
    # Even if the records say that everything is indexed.
    [waiting] = world.index.unindexed_tables()
    world.index.mark_indexed(waiting)
    assert world.rows(table) == {}
    reconcile = ReconcileTables(world.store, [KeptIndex(world.index, world.queues, "")])
    assert reconcile.page(None, dry_run=False, is_over=lambda: False).differences == []
    late.index()
    assert reconcile.page(None, dry_run=False, is_over=lambda: False).differences == []
    world.store.delete(namespace(world.project, table), list(world.rows(table))[:1])
    late.index()
    [lost] = reconcile.page(None, dry_run=False, is_over=lambda: False).differences
    assert (lost.rule, lost.message) == ("lost", "The store does not have 1 of 2 recorded chunks.")
