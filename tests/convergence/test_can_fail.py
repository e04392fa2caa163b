"""The schedules find parts that are broken on purpose."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sakuin.tables.chunk_store import StoredChunkRow

from tests.convergence.actions import END, GoOn, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import run_schedules, scripted
from tests.convergence.materials_machine import MaterialsMachine
from tests.convergence.materials_world import MaterialsBackend
from tests.convergence.tables_actions import Change
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import TablesBackend
from tests.convergence.tally import Tally


@dataclass(frozen=True)
class Broken:
    """A store that is right but for what a test changes."""

    real: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class SweepsEverything(Broken):
    """Deletes also what a newer generation stored meanwhile."""

    def sweep_node(self, namespace: str, **asked: Any) -> int:
        return int(self.real.sweep_node(namespace, **(asked | {"generation": 1 << 40})))

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        self.real.delete(namespace, doc_ids)


class ForgetsTheLast(Broken):
    """Acknowledges the last row of several without storing it."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, rows[:-1] if len(rows) > 1 else rows)


class StoresOtherText(Broken):
    """Stores another text."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, [replace(row, content=row.content + "？") for row in rows])


@pytest.mark.parametrize("broken", [ForgetsTheLast, StoresOtherText])
def test_a_store_that_is_broken_is_found(tables: TablesBackend, broken: type[Broken]) -> None:
    store = broken(tables.store)
    with pytest.raises(AssertionError):
        run_schedules(TablesMachine, Tally(), schedules=50, backend=tables, parts={"store": store}, shrink=False)


def test_a_sweep_that_asks_for_no_generation_is_found(tables: TablesBackend) -> None:
    story = scripted(TablesMachine, tables, store=SweepsEverything(tables.store))
    try:
        with pytest.raises(AssertionError, match="the store has not"):
            _sweep_late(story)
    finally:
        story.clear()


def test_maintenance_that_resumes_nothing_is_found(materials: MaterialsBackend) -> None:
    parts = {"resumes": False}
    with pytest.raises(AssertionError, match=r"unfinished work|never comes to rest"):
        run_schedules(MaterialsMachine, Tally(), schedules=50, backend=materials, parts=parts, shrink=False)


def test_maintenance_that_asks_no_language_model_is_found(materials: MaterialsBackend) -> None:
    with pytest.raises(AssertionError, match="never comes to rest"):
        run_schedules(MaterialsMachine, Tally(), schedules=50, backend=materials, parts={"asks": False}, shrink=False)


def _sweep_late(story: TablesMachine) -> None:
    """A text comes back while the worker that sweeps it pauses."""
    one, other = "公式に代入する。係数を読みとる。", "一次関数の傾きを求める。切片は別に読む。"
    story.begin(document={"a": one}, scope="", indexed=True)
    story.step(Change("replace", 0, {"a": other}, "", sent=True))
    story.step(Work(0, False, END, Fate.GO))
    story.step(Work(0, False, "rpc/record_stored", Fate.GO))
    story.step(Change("replace", 0, {"a": one}, "", sent=True))
    for _ in range(2):
        story.step(Work(0, False, END, Fate.GO))
    story.step(GoOn(0, END, Fate.GO))
    story.holds()
