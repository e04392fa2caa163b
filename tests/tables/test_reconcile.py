"""Comparing the records of a Table with turbopuffer: lost chunks are stored again, unwanted rows deleted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.differences import Difference
from sakuin.errors import CircuitOpen, OutOfTime, Unavailable
from sakuin.tables.nodes import RecordedRows, namespace
from sakuin.tables.postgres import combined_rows
from sakuin.tables.reconcile import KeptIndex, ReconcileTables

from tests.doubles.chunk_store import WatchedStore
from tests.worlds import TableWorld, long

A, B, C = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")
ALL_TIME: Callable[[], bool] = lambda: False  # noqa: E731 - named for what it says


def reconcile(world: TableWorld) -> ReconcileTables:
    return ReconcileTables(world.store, [KeptIndex(world.index, world.queues, "")])


def night(world: TableWorld, table: str, *, dry_run: bool = False) -> list[str]:
    """Returns the rules of the differences that the nightly run finds of a Table."""
    return [one.rule for one in differences(world, table, dry_run=dry_run)]


def differences(world: TableWorld, table: str, *, dry_run: bool = False) -> list[Difference]:
    """Returns the differences that the nightly run finds of a Table."""
    found: list[Difference] = []
    after = None
    while True:
        page = reconcile(world).page(after, dry_run=dry_run, is_over=ALL_TIME)
        found += [one for one in page.differences if one.where == table]
        after = page.after
        if after is None:
            return found


def doc_ids(world: TableWorld, table: str, pointer: str) -> list[str]:
    rows = world.sql(
        "select turbopuffer_doc_id from chunks where table_id = %s and json_pointer = %s order by 1", table, pointer
    )
    return [row[0] for row in rows]


def stray(world: TableWorld, table: str, *, generation: int, name: str = "stray") -> None:
    """Writes an unwanted row."""
    vector = [1.0] + [0.0] * 1535
    world.store.client.namespace(namespace(world.project, table)).write(
        upsert_rows=[{"id": name, "chunk": name, "passage": 0, "vector": vector, "generation": generation}],
        distance_metric="cosine_distance",
    )


def test_one_lost_and_one_left_over_are_both_found(world: TableWorld) -> None:
    table, _, endpoint = world.indexed({"a": A, "b": B})
    rows = world.rows(table).keys()
    world.store.delete(namespace(world.project, table), doc_ids(world, table, "/a")[:1])
    stray(world, table, generation=1)
    for dry_run in (True, False):
        assert world.queues.asked == []
        assert [(found.rule, found.message) for found in differences(world, table, dry_run=dry_run)] == [
            ("lost", "The store does not have 1 of 4 recorded chunks."),
            ("left over", "The store has 1 rows that no record needs."),
        ]
    world.settle()
    assert (world.rows(table).keys(), world.found(endpoint)) == (rows, {"/a", "/b"})
    assert night(world, table) == []


def test_a_row_that_is_stored_while_the_two_are_compared_is_neither_lost_nor_left_over(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B})
    world.store.delete(namespace(world.project, table), doc_ids(world, table, "/b"))

    def edited_and_stored() -> None:
        watched, world.store = world.store, world.store.real
        world.replace(table, {"a": A, "b": C})
        world.settle()
        world.store = watched

    world.store = WatchedStore(world.store, before={"ids": edited_and_stored})
    night(world, table)
    world.store = world.store.real
    world.settle()
    assert world.found(endpoint) == {"/a", "/b"}
    assert world.status(tool)["state"] == "ready"
    assert night(world, table) == []


def test_records_that_are_missing_are_built_again(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B})
    rows = world.rows(table).keys()
    for derived in ("chunks", "node", "table_reading", "table_scan", "table_namespace"):
        world.sql(f"delete from {derived} where table_id = %s", table)
    world.sql(
        "delete from chunk_vector using context_table t where t.id = %s and chunk_vector.project_id = t.project_id",
        table,
    )
    world.store.delete_namespace(namespace(world.project, table))
    assert night(world, table) == []
    world.sql("update context_table set updated_at = updated_at - interval '16 minutes'")
    assert night(world, table) == ["lost"]
    world.settle()
    assert (world.found(endpoint), world.rows(table).keys()) == ({"/a", "/b"}, rows)
    assert (world.status(tool)["state"], night(world, table)) == ("ready", [])


def test_records_from_a_backup_count_on_from_what_the_store_has(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": A, "b": B})
    stray(world, table, generation=77, name="of-the-future")
    assert night(world, table) == ["behind"]
    world.settle()
    assert (world.found(endpoint), world.status(tool)["state"]) == ({"/a", "/b"}, "ready")
    assert night(world, table) == ["left over"]
    assert "of-the-future" not in world.rows(table)
    world.replace(table, {"a": C, "b": B})
    world.settle()
    assert world.found(endpoint) == {"/a", "/b"}
    assert night(world, table) == []


def test_a_table_that_is_gone_or_not_scanned_yet_is_not_compared(world: TableWorld) -> None:
    table, _, _ = world.indexed({"a": A})
    world.call("delete_table", table=table)
    assert (night(world, table), world.index.recorded_rows(table)) == ([], None)
    coming = world.table({"a": A})
    world.tool(coming, "")
    assert night(world, coming) == []


def test_recorded_rows_are_the_same_in_parts_and_named_as_they_will_be_stored(world: TableWorld) -> None:
    table = world.table({"a": A, "日本/語": B})
    world.tool(table, "")
    world.deliver(world.queues.asked.pop(0))
    coming = world.index.recorded_rows(table)
    world.settle()
    whole = world.index.recorded_rows(table)
    assert coming is not None
    assert whole is not None
    assert (set(coming.coming), set(coming.stored)) == (set(whole.stored), set())
    assert whole.stored.keys() == world.rows(table).keys()
    for rows_a_request in range(1, 6):
        assert replace(world.index, rows_a_request=rows_a_request).recorded_rows(table) == whole, rows_a_request


def test_of_rows_whose_table_changes_while_they_are_read_nothing_is_left_over() -> None:
    parts: dict[Any, dict[str, Any]] = {
        None: {
            "generation": 1,
            "planned": True,
            "unscanned": False,
            "stored": {"a": "1"},
            "coming": [],
            "next": ["x", "y", 0],
        },
        "x": {"generation": 2, "planned": True, "stored": {"b": "2"}, "coming": ["c"], "next": None},
    }
    rows = combined_rows(lambda after: parts[after and after[0]])
    assert rows == RecordedRows(1, planned=False, stored={"a": "1", "b": "2"}, coming=["c"])


TIMED_OUT = Unavailable("Supabase ended a statement after its time limit (57014)")
LATE = OutOfTime("the time of this part is over")
ALL = [f"t{number:02}" for number in range(40)]


@dataclass
class Records:
    """Records and store of forty Tables; `bad` ones fail."""

    bad: dict[str, BaseException] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)

    def tables_after(self, table_id: str | None, *, limit: int) -> Sequence[tuple[str, str]]:
        return [("p", name) for name in ALL if name > (table_id or "")][:limit]

    def recorded_rows(self, table_id: str) -> None:
        if table_id in self.bad:
            raise self.bad[table_id]
        self.compared.append(table_id)

    @property
    def reconcile(self) -> ReconcileTables:
        both: Any = self
        return ReconcileTables(both, [KeptIndex(both, both, "")])


@pytest.mark.parametrize("error", [TIMED_OUT, LATE])
def test_a_day_goes_past_a_table_that_fails_or_takes_all_the_time(error: Exception) -> None:
    records = Records({"t03": error})
    after, found = None, []
    for _ in range(3):
        page = records.reconcile.page(after, dry_run=False, is_over=lambda: False)
        after = page.after
        found += [(one.rule, one.where, one.message) for one in page.differences]
    assert found == [("failed", "t03", f"It could not be compared: {error}.")]
    assert (after, [*records.compared, "t03"]) == (None, [*ALL[:3], *ALL[4:], "t03"])


def test_a_vendor_that_is_not_called_costs_no_table_its_turn() -> None:
    records = Records({"t02": CircuitOpen("turbopuffer keeps failing", vendor="turbopuffer")})
    with pytest.raises(CircuitOpen, match="keeps failing"):
        records.reconcile.page(None, dry_run=False, is_over=lambda: False)


def test_when_the_time_is_over_a_page_ends_after_the_table_that_was_compared_last() -> None:
    records = Records()
    places: list[str | None] = []
    for _ in range(len(ALL)):
        places.append(records.reconcile.page(places[-1] if places else None, dry_run=False, is_over=lambda: True).after)
    assert (places[:-1], records.compared) == (ALL[:-1], ALL)
