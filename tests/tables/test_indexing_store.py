"""Tables while turbopuffer indexes what it stored: they are not ready, and nothing is taken for lost."""

from collections.abc import Iterator

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.nodes import namespace
from sakuin.tables.reconcile import ReconcileTables
from sakuin_local.supabase.database import Database

from tests.doubles.real_pace import RealPace, real_pace
from tests.worlds import TableWorld, long, world_of

A, B = long("二次方程式の解の公式"), long("三平方の定理")
BACKLOG = 128 * 1024 * 1024


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPace]:
    with real_pace(tmp_path_factory.mktemp("turbopuffer")) as running:
        yield running


@pytest.fixture
def world(empty_database: Database, strict: RealPace) -> TableWorld:
    """A project whose store indexes for half a minute after each write."""
    return world_of(empty_database, strict.url)


def test_a_table_is_ready_when_the_store_has_indexed_it(world: TableWorld, strict: RealPace) -> None:
    _, tool, endpoint = world.indexed({"a": A, "b": B})
    status = world.status(tool)
    assert (status["state"], "indexed_at" in status, status["indexed_chunks_count"]) == ("indexing", False, 4)
    # What is stored is found, as far as the store shows it.
    assert world.found(endpoint) == {"/a", "/b"}
    assert world.maintain().completed == 0
    strict.time.now += 30
    assert world.maintain().completed == 1
    assert world.status(tool)["state"] == "ready"
    assert world.maintain().completed == 0


def test_a_table_that_searches_do_not_see_yet_is_neither_ready_nor_stalled(world: TableWorld, strict: RealPace) -> None:
    table, tool, endpoint = world.indexed({"a": A})
    strict.time.now += 30
    world.maintain()
    strict.store.add_backlog(namespace(world.project, table), BACKLOG)
    world.replace(table, {"a": A, "b": B})
    world.settle()
    assert world.found(endpoint) == {"/a"}
    assert world.status(tool)["state"] == "indexing"
    assert world.index.stalled_tables(-1) == []
    assert world.maintain().restarted == 0
    strict.time.now += 30
    world.maintain()
    assert (world.found(endpoint), world.status(tool)["state"]) == ({"/a", "/b"}, "ready")


def test_the_last_batch_completes_a_table_that_is_indexed_already(world: TableWorld, strict: RealPace) -> None:
    _, tool, _ = world.documented({"a": A, "b": B})
    world.deliver(world.queues.asked.pop(0))
    batch = world.queues.asked.pop()
    world.deliver((*batch[:3], batch[3][:-1]))
    strict.time.now += 30
    # The store has nothing to index when the message comes again.
    world.deliver(batch)
    assert world.status(tool)["state"] == "indexing"
    strict.time.now += 30
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


def test_a_reindex_is_not_compared_before_the_store_has_indexed_everything(world: TableWorld, strict: RealPace) -> None:
    table, tool, endpoint = world.documented({"a": A})
    strict.store.add_backlog(namespace(world.project, table), BACKLOG)
    world.settle()
    world.call("reindex_tool", tool=tool)
    with pytest.raises(Unavailable, match="still indexes") as waits:
        world.scan(world.project, table)
    assert (waits.value.namespace, waits.value.retry_after) == (namespace(world.project, table), 60)
    strict.time.now += 30
    world.scan(world.project, table)
    # Nothing is stored again.
    assert world.queues.asked == []
    assert (world.found(endpoint), world.status(tool)["state"]) == ({"/a"}, "ready")


def test_hidden_rows_are_not_taken_for_lost(world: TableWorld, strict: RealPace) -> None:
    table, _, _ = world.documented({"a": A})
    strict.store.add_backlog(namespace(world.project, table), BACKLOG)
    world.settle()
    # Even if the records say that everything is indexed.
    [waiting] = world.index.unindexed_tables()
    world.index.mark_indexed(waiting)
    assert world.rows(table) == {}
    reconcile = ReconcileTables(world.index, world.store, world.queues, "")
    assert reconcile.page(None, dry_run=False, is_over=lambda: False).differences == []
    strict.time.now += 30
    assert reconcile.page(None, dry_run=False, is_over=lambda: False).differences == []
    world.store.delete(namespace(world.project, table), list(world.rows(table))[:1])
    strict.time.now += 30
    [lost] = reconcile.page(None, dry_run=False, is_over=lambda: False).differences
    assert (lost.rule, lost.message) == ("lost", "The store does not have 1 of 2 recorded chunks.")
