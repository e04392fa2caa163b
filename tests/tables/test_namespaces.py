"""Deployments that share an account of turbopuffer: each deletes only its own namespaces."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.nodes import namespace

from tests.contracts.turbopuffer.chunk_rows import row
from tests.doubles.chunk_store import WatchedStore
from tests.worlds import TableWorld, long

A, B = long("二次方程式の解の公式", 300), long("一次関数の傾き", 300)


def indexed(world: TableWorld, text: str = A) -> tuple[str, str]:
    """Makes and indexes a Table; returns it and its endpoint."""
    table, _, endpoint = world.indexed({"a": text})
    return table, endpoint


def names(world: TableWorld) -> list[str]:
    return list(world.store.namespaces(f"project_{world.project}"))


def remembered(world: TableWorld, table: str) -> bool:
    return bool(world.sql("select 1 from table_namespace where table_id = %s", table))


def dies() -> None:
    raise Unavailable("the worker died")


def test_what_another_deployment_wrote_under_the_same_key_stays(world: TableWorld) -> None:
    # It has the same account of turbopuffer, and another database.
    project, table = str(uuid4()), str(uuid4())
    world.store.upsert(namespace(project, table), [row()])
    own, endpoint = indexed(world)
    assert world.maintain().removed == 0
    gone, _ = indexed(world)
    world.call("delete_table", table=gone)
    assert world.maintain().removed == 1
    # A message about it comes by mistake.
    assert world.scan(project, table).outcome == "gone"
    assert world.scan(world.project, table).outcome == "gone"
    assert world.store.ids(namespace(project, table)) == {row().doc_id: 1}
    assert world.found(endpoint) == {"/a"}
    assert names(world) == [namespace(world.project, own)]


def test_a_removed_namespace_is_forgotten_once_no_late_write_can_come(world: TableWorld) -> None:
    table, _ = indexed(world)
    world.call("delete_table", table=table)
    assert world.maintain().removed == 1
    assert world.maintain().removed == 0
    assert remembered(world, table)
    world.sql("update table_namespace set unneeded_since = now() - interval '2 days' where table_id = %s", table)
    world.maintain()
    assert not remembered(world, table)


def test_a_namespace_that_is_still_in_the_store_is_not_forgotten_however_old(world: TableWorld) -> None:
    table, _ = indexed(world)
    world.call("delete_table", table=table)
    world.sql("update table_namespace set unneeded_since = now() - interval '2 days' where table_id = %s", table)
    failing = replace(world, store=WatchedStore(world.store, before={"delete_namespace": dies}))
    with pytest.raises(Unavailable):
        failing.maintain()
    assert remembered(world, table)
    assert world.maintain().removed == 1
    assert names(world) == []


def test_what_is_written_again_is_not_forgotten(world: TableWorld) -> None:
    table, _ = indexed(world)
    name = namespace(world.project, table)
    world.sql("update table_namespace set unneeded_since = now() - interval '2 days' where table_id = %s", table)
    world.replace(table, {"a": B})
    world.settle()
    world.index.delete_namespace_records([name], seconds=0)
    assert world.sql("select unneeded_since from table_namespace where namespace = %s", name) == [(None,)]


def test_nothing_is_remembered_of_a_table_that_is_gone_before_the_first_write(world: TableWorld) -> None:
    table = world.table({"a": A})
    world.tool(table, "")
    world.deliver(world.queues.asked.pop(0))
    world.call("delete_table", table=table)
    world.settle()
    assert not remembered(world, table)
