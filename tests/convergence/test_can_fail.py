"""The schedules find what they are there to find: parts that are broken on purpose are told from whole ones."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sakuin.tables.chunk_store import StoredChunkRow

from tests.convergence.interleaving import Fate
from tests.convergence.materials_machine import MaterialsMachine
from tests.convergence.materials_world import MaterialsHouse
from tests.convergence.running import run_schedules
from tests.convergence.tables_actions import END, Change, GoOn, Work
from tests.convergence.tables_house import TablesHouse
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tally import Tally


@dataclass(frozen=True)
class Broken:
    """A store that does all as it should but what a test changes."""

    real: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class SweepsEverything(Broken):
    """It deletes what a newer generation has stored meanwhile, too."""

    def sweep_node(self, namespace: str, **asked: Any) -> int:
        return int(self.real.sweep_node(namespace, **(asked | {"generation": 1 << 40})))

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        self.real.delete(namespace, doc_ids)


class ForgetsTheLast(Broken):
    """It acknowledges the last row of several and does not store it."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, rows[:-1] if len(rows) > 1 else rows)


class StoresOtherText(Broken):
    """Its rows say something else than they were given."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, [replace(row, content=row.content + "？") for row in rows])


@pytest.mark.parametrize("broken", [ForgetsTheLast, StoresOtherText])
def test_a_store_that_is_broken_is_found_out(tables: TablesHouse, broken: type[Broken]) -> None:
    store = broken(tables.store)
    with pytest.raises(AssertionError):
        run_schedules(TablesMachine, Tally(), schedules=50, house=tables, parts={"store": store}, shrink=False)


def test_a_sweep_that_asks_for_no_generation_is_found_out(tables: TablesHouse) -> None:
    story = _story(tables, store=SweepsEverything(tables.store))
    try:
        with pytest.raises(AssertionError, match="the store has not"):
            _sweep_late(story)
    finally:
        story.crew.dismiss()
        story.world.clear()


def test_maintenance_that_resumes_nothing_is_found_out(materials: MaterialsHouse) -> None:
    parts = {"resumes": False}
    with pytest.raises(AssertionError, match=r"unfinished work|never comes to rest"):
        run_schedules(MaterialsMachine, Tally(), schedules=50, house=materials, parts=parts, shrink=False)


def _story(tables: TablesHouse, **parts: Any) -> TablesMachine:
    made: Any = type("Broken", (TablesMachine,), {"house": tables, "tally": Tally(), "parts": parts})
    story: TablesMachine = made()
    return story


def _sweep_late(story: TablesMachine) -> None:
    """A text comes back while the worker that is to sweep it stands still."""
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
