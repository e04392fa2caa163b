"""What is deleted is gone at once, and its rows are deleted in portions."""

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from sakuin.errors import NotFound
from sakuin.platform.unfinished_work import UnfinishedWorkStore

from tests.doubles.event_bus import MemoryBus
from tests.table_world import TableWorld, long, maintenance

OF_TABLES = ("chunks", "node", "table_reading", "table_object", "table_scan", "pending_deletion")
DOCUMENT = [{"title": f"第{number}章", "text": long(f"章{number}", 3000)} for number in range(8)]


def rows(world: TableWorld, table: str) -> dict[str, int]:
    query = "select count(*) from {} where table_id = %s"
    counts = ((kind, world.sql(query.format(kind), table)) for kind in OF_TABLES)
    return {kind: found[0][0] for kind, found in counts if found[0][0]}


def unfinished(world: TableWorld) -> Sequence[str]:
    store = UnfinishedWorkStore(world.client)
    return [row.subject for row in store.rows(subjects={world.project, *world_tables(world)}) if row.kind == "deletion"]


def world_tables(world: TableWorld) -> set[str]:
    return {row[0] for row in world.sql("select table_id::text from outbox where project_id = %s", world.project)}


def portions(world: TableWorld, limit: int) -> list[Any]:
    """Deletes in portions until nothing is left; returns the deleted rows of each."""
    done = []
    while portion := world.index.delete_portion(limit=limit):
        done.append(portion.rows)
    return done


def test_a_deleted_table_is_gone_at_once_and_its_rows_go_in_portions(world: TableWorld) -> None:
    portions(world, 1000)
    table, tool, endpoint = world.indexed(DOCUMENT)
    stored = rows(world, table)
    assert {"chunks": 32, "node": 8, "table_object": 8}.items() <= stored.items()
    world.call("delete_table", table=table)
    assert world.records.endpoint(endpoint).tools == ()  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        world.call("read_tool", tool=tool)
    # The Tool's rows of the scan go with it, the many others later.
    assert rows(world, table) == {kind: n for kind, n in stored.items() if kind != "table_scan"}
    assert unfinished(world) == [table]
    sizes = portions(world, 5)
    # At most five chunks and five objects at once; then nodes and readings; then it is finished.
    assert sizes[:2] == [10, 8]
    assert max(sizes) <= 10
    assert sizes[-1] == 0
    assert (rows(world, table), unfinished(world)) == ({}, [])


def test_a_worker_that_dies_in_a_portion_loses_that_portion_alone(world: TableWorld) -> None:
    portions(world, 1000)
    table, _, _ = world.indexed(DOCUMENT)
    world.call("delete_table", table=table)
    assert world.index.delete_portion(limit=20)
    with psycopg.connect(world.dsn) as killed:
        killed.execute("select delete_portion(5)")
        # Meanwhile nobody else deletes the same.
        assert world.index.delete_portion(limit=5) is None
        killed.rollback()
    assert rows(world, table)["chunks"] == 12
    assert maintenance(world)().deletions_left == 0
    assert (rows(world, table), unfinished(world)) == ({}, [])


def test_a_late_worker_writes_nothing_for_a_deleted_table(world: TableWorld) -> None:
    portions(world, 1000)
    table, _, _ = world.documented(DOCUMENT)
    world.deliver(world.queues.asked.pop(0))
    late = [message for message in world.queues.asked if message[0] == "embed"]
    world.call("delete_table", table=table)
    for message in late:
        world.deliver(message)
    assert late
    assert world.embedder.embedded == []
    assert portions(world, 1000)
    assert (rows(world, table), world.rows(table)) == ({}, {})


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
    bus = MemoryBus()
    assert world.maintain(bus).deletions_left == 0
    assert bus.names.count("TableDeleted") == 3
    assert world.sql("select 1 from project where id = %s", world.project) == []
    assert world.sql("select 1 from chunk_vector where project_id = %s", world.project) == []
    assert ([rows(world, table) for table, _, _ in tables], unfinished(world)) == ([{}] * 3, [])
    assert other.found(kept)
