"""What is deleted is gone at once, its rows are deleted in portions, and namespaces of other deployments stay."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from sakuin.errors import NotFound, Unavailable
from sakuin.tables.nodes import namespace

from tests.contracts.turbopuffer.chunk_rows import row
from tests.doubles.chunk_store import WatchedStore
from tests.watched import watched
from tests.worlds import TableWorld, long, passages_of

OF_TABLES = ("chunks", "node", "table_reading", "table_object", "table_scan")

DOCUMENT = [{"title": f"第{number}章", "text": long(f"章{number}", 300)} for number in range(8)]


def rows(world: TableWorld, table: str) -> dict[str, int]:
    query = "select count(*) from {} where table_id = %s"
    counts = ((kind, world.sql(query.format(kind), table)) for kind in OF_TABLES)
    return {kind: found[0][0] for kind, found in counts if found[0][0]}


def unfinished(world: TableWorld) -> Sequence[str]:
    ids = {world.project, *world_tables(world)}
    return [row[0] for row in world.sql("select id::text from deletion") if row[0] in ids]


def world_tables(world: TableWorld) -> set[str]:
    return {row[0] for row in world.sql("select table_id::text from outbox where project_id = %s", world.project)}


def portions(world: TableWorld, limit: int) -> list[Any]:
    """Deletes in portions until nothing is left; returns the deleted rows of each."""
    done = []
    while portion := world.index.delete_portion(limit=limit):
        done.append(portion.rows)
    return done


def die() -> None:
    raise KeyboardInterrupt


def test_a_deleted_table_is_gone_at_once_and_its_rows_go_in_portions(world: TableWorld) -> None:
    portions(world, 1000)
    table, tool, endpoint = world.indexed(DOCUMENT)
    stored = rows(world, table)
    assert {"chunks": 8, "node": 8, "table_object": 8}.items() <= stored.items()
    world.call("delete_table", table=table)
    assert world.records.endpoint(endpoint).tools == ()
    with pytest.raises(NotFound):
        world.call("read_tool", tool=tool)
    # The Tool's rows of the scan go with it, the many others later.
    assert rows(world, table) == {kind: n for kind, n in stored.items() if kind != "table_scan"}
    assert unfinished(world) == [table]
    sizes = portions(world, 5)
    # At most five chunks and five objects at once; then nodes and readings; then it is finished.
    assert sizes[:2] == [10, 6]
    assert max(sizes) <= 10
    assert sizes[-1] == 0
    assert (rows(world, table), unfinished(world)) == ({}, [])


def test_deleted_tables_take_turns(world: TableWorld) -> None:
    portions(world, 1000)
    deleted = [world.indexed(DOCUMENT)[0] for _ in range(2)]
    for table in deleted:
        world.call("delete_table", table=table)
    for _ in deleted:
        assert world.index.delete_portion(limit=3)
    assert [rows(world, table)["chunks"] for table in deleted] == [5, 5]
    portions(world, 1000)


def test_a_worker_that_dies_in_a_portion_loses_that_portion_alone(world: TableWorld) -> None:
    portions(world, 1000)
    table, _, _ = world.indexed(DOCUMENT)
    world.call("delete_table", table=table)
    assert world.index.delete_portion(limit=3)
    with psycopg.connect(world.dsn) as killed:
        killed.execute("select delete_portion(5)")
        # Meanwhile nobody else deletes the same.
        assert world.index.delete_portion(limit=5) is None
        killed.rollback()
    assert rows(world, table)["chunks"] == 5
    assert world.maintain()["deletions"] == 0
    assert (rows(world, table), unfinished(world)) == ({}, [])


def test_a_deleted_project_is_hidden_at_once_and_goes_table_by_table(world: TableWorld) -> None:
    portions(world, 1000)
    tables = [world.indexed(DOCUMENT) for _ in range(3)]
    other = world.beside()
    _, _, kept = other.indexed(DOCUMENT)
    world.call("delete_project", project=world.project)
    assert [one["id"] for one in world.call("list_projects") if one["id"] == world.project] == []
    for table, tool, endpoint in tables:
        assert world.records.endpoint(endpoint) is None
        for function, asked in (("read_table", {"table": table}), ("read_tool", {"tool": tool})):
            with pytest.raises(NotFound):
                world.call(function, **asked)
    with pytest.raises(NotFound):
        world.call("delete_project", project=world.project)
    assert unfinished(world) == [world.project]
    # One Table, and a portion of the vectors.
    assert world.index.delete_portion(limit=5) is not None
    assert len(world.sql("select 1 from context_table where project_id = %s", world.project)) == 2
    assert world.maintain()["deletions"] == 0
    assert world.bus.names.count("TableDeleted") == 3
    assert world.sql("select 1 from project where id = %s", world.project) == []
    assert world.sql("select 1 from chunk_vector where project_id = %s", world.project) == []
    assert ([rows(world, table) for table, _, _ in tables], unfinished(world)) == ([{}] * 3, [])
    assert other.found(kept)


def test_the_strings_of_a_document_are_sent_once_however_many_are_removed(world: TableWorld) -> None:
    texts = [long(f"章{number}", 300) for number in range(12)]
    table, _, endpoint = world.indexed(texts)
    world.replace(table, texts[:8])
    world.queues.asked.clear()
    hashes: list[tuple[int | None, int]] = []

    def record(name: str, response: httpx.Response) -> None:
        if name == "finish_scan":
            body = json.loads(response.request.content)
            hashes.append((body["p_kept"] and len(body["p_kept"]), len(body["p_gone"])))

    with watched(world.client, record):
        assert replace(world.scan, nodes_a_deletion=1)(world.project, table).outcome == "scanned"
    assert hashes == [(8, 0), (None, 1), (None, 1), (None, 1)]
    assert (len(world.found(endpoint)), len(world.rows(table))) == (8, 8)


def test_a_message_deletes_so_many_portions_and_another_one_the_rest(world: TableWorld) -> None:
    """Lambda ends a worker after ninety seconds."""
    texts = [long(f"章{number}", 300) for number in range(12)]
    table, tool, endpoint = world.indexed(texts)
    world.replace(table, texts[:2])
    world.queues.asked.clear()
    scan = replace(world.scan, nodes_a_deletion=2, portions_a_message=2)
    assert scan(world.project, table).outcome == "page"
    assert (len(world.rows(table)), world.status(tool)["state"]) == (8, "indexing")
    (request,) = world.queues.asked
    assert request[0] == "index"
    generation = world.sql("select generation from context_table where id = %s", table)[0][0]
    assert scan(world.project, table, generation=generation, skip=2).outcome == "page"
    assert scan(world.project, table, generation=generation, skip=2).outcome == "scanned"
    assert (world.status(tool)["state"], len(world.rows(table))) == ("ready", 2)
    assert world.found(endpoint) == {"/0", "/1"}


def test_a_last_page_whose_worker_dies_before_it_deletes_is_done_when_it_comes_again(world: TableWorld) -> None:
    paged = replace(world, chunks_a_page=2)
    table, tool, _ = paged.indexed([long(f"章{number}", 300) for number in range(6)])
    paged.replace(table, [long(f"節{number}", 300) for number in range(4)])
    paged.deliver(paged.queues.asked.pop(0))
    last = next(message for message in paged.queues.asked if message[0] == "index")
    paged.queues.asked.remove(last)
    with pytest.raises(KeyboardInterrupt):
        replace(paged, store=WatchedStore(paged.store, before={"sweep": die})).deliver(last)
    paged.settle()
    assert paged.status(tool)["state"] == "indexing"
    paged.deliver(last)
    assert (paged.status(tool)["state"], len(paged.rows(table))) == ("ready", 4)


def test_a_vector_of_a_table_goes_thirty_to_45_days_after_its_last_text(world: TableWorld) -> None:
    table, _, endpoint = world.indexed({"a": long("公式"), "b": long("公式"), "c": long("傾き", 900)})

    def swept() -> int:
        """Deletes all that are due, one at a time; returns how many vectors the project has then."""
        while world.call("delete_unused_texts", limit=1, seconds=30 * 86_400):
            pass
        return len(world.sql("select 1 from chunk_vector where project_id = %s", world.project))

    def days_pass(days: int) -> None:
        world.sql("update chunk_vector set used_at = used_at - make_interval(days => %s)", days)

    kept, other = (len(passages_of(text)) for text in (long("公式"), long("傾き", 900)))
    assert swept() == kept + other
    world.replace(table, {"b": long("公式")})
    world.settle()
    assert swept() == kept + other
    days_pass(29)
    assert swept() == kept + other
    world.replace(table, {"b": long("公式"), "c": long("傾き", 900)})
    world.settle()
    days_pass(2)
    assert swept() == len(world.embedder.embedded) == kept + other
    world.replace(table, {"b": long("公式")})
    world.settle()
    assert swept() == kept + other
    days_pass(43)
    # Those of the text which is still there stay.
    assert (swept(), world.found(endpoint)) == (kept, {"/b"})
    world.replace(table, {"z": long("公式")})
    world.settle()
    assert len(world.embedder.embedded) == kept + other


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
    assert world.maintain()["namespaces"] == 0
    gone, _ = indexed(world)
    world.call("delete_table", table=gone)
    assert world.maintain()["namespaces"] == 1
    # A message about it comes by mistake.
    assert world.scan(project, table).outcome == "gone"
    assert world.scan(world.project, table).outcome == "gone"
    assert world.store.ids(namespace(project, table)) == {row().doc_id: 1}
    assert world.found(endpoint) == {"/a"}
    assert names(world) == [namespace(world.project, own)]


def test_a_removed_namespace_is_forgotten_once_no_late_write_can_come(world: TableWorld) -> None:
    table, _ = indexed(world)
    world.call("delete_table", table=table)
    assert world.maintain()["namespaces"] == 1
    assert world.maintain()["namespaces"] == 0
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
    assert world.maintain()["namespaces"] == 1
    assert names(world) == []


def test_what_is_written_again_is_not_forgotten(world: TableWorld) -> None:
    table, _ = indexed(world)
    name = namespace(world.project, table)
    world.sql("update table_namespace set unneeded_since = now() - interval '2 days' where table_id = %s", table)
    world.replace(table, {"a": B})
    world.settle()
    world.index.delete_namespace_records([name], seconds=0)
    assert world.sql("select unneeded_since from table_namespace where namespace = %s", name) == [(None,)]
