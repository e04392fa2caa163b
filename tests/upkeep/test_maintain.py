"""Maintenance deletes orphaned namespaces; slow or failing ones do not stop others."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.tables.nodes import DeletedPortion, OrphanedIndex, UnindexedTable, namespace
from sakuin.upkeep.maintain import Maintain, MaintenanceResult

A, B, C = (f"project_p_table_{name}" for name in "abc")
OLD = [OrphanedIndex("p", name, "f", "_old") for name in "abc"]


@dataclass
class Leaving:
    """Records and store of what is to be removed, and a clock. `slow` takes this namespace so many seconds.

    `portions` of deleted Tables are left, each of which takes 6 seconds.
    """

    there: set[str]
    gone: set[str] = field(default_factory=set)
    old: list[OrphanedIndex] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    slow: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    portions: int = 0

    def orphaned_namespaces(self) -> Collection[str]:
        return self.gone

    def orphaned_indexes(self) -> list[OrphanedIndex]:
        return list(self.old)

    def unindexed_tables(self) -> list[UnindexedTable]:
        return []

    def namespaces(self, prefix: str) -> list[str]:
        return sorted(name for name in self.there if name.startswith(prefix))

    def delete_namespace(self, name: str) -> None:
        self.seconds += self.slow.get(name, 0)
        if name in self.failing:
            raise Unavailable(f"{name} did not answer", vendor="turbopuffer")
        self.there.discard(name)

    def delete_records(self, leftover: OrphanedIndex, *, limit: int) -> int | None:
        if leftover in self.old:
            self.old.remove(leftover)
            return 1
        return 0

    def delete_portion(self, *, limit: int) -> DeletedPortion | None:
        if not self.portions:
            return None
        self.seconds += 6
        self.portions -= 1
        return DeletedPortion(limit, self.portions)

    def delete_namespace_records(self, names: Collection[str], *, seconds: int) -> None:
        self.gone -= set(names)

    def maintain(self) -> MaintenanceResult:
        """A minute's maintenance, by this clock."""
        both: Any = self
        nothing: Any = lambda: 0  # noqa: E731 - stands for several
        return Maintain(nothing, both, both, nothing, nothing, nothing, nothing, clock=lambda: self.seconds)()


def names(leftovers: list[OrphanedIndex]) -> set[str]:
    return {namespace(one.project_id, one.table_id, one.suffix) for one in leftovers}


def test_a_namespace_that_cannot_be_deleted_does_not_stop_others() -> None:
    leaving = Leaving({A, B, C, *names(OLD)}, {A, B, C, "project_p_table_long_gone"}, list(OLD), {A, *names(OLD[:1])})
    with pytest.raises(Unavailable, match=A):
        leaving.maintain()
    # Its records went first: without them it is abandoned, and found as that.
    assert (leaving.there, leaving.old) == ({A, *names(OLD[:1])}, [])
    assert "project_p_table_long_gone" not in leaving.gone


def test_slow_namespaces_are_not_first_each_minute() -> None:
    leaving = Leaving({A, B, C}, {A, B, C}, failing={A}, slow={A: 60.0})
    for _ in range(4):
        leaving.seconds += 60
        try:
            leaving.maintain()
        except Unavailable:
            continue
    assert leaving.there == {A}


def test_deletion_continues_in_the_next_minute() -> None:
    leaving = Leaving({A, B, C}, {A, B, C}, slow={A: 6.0, B: 6.0, C: 6.0})
    leaving.maintain()
    assert len(leaving.there) == 1
    leaving.maintain()
    assert leaving.there == set()


def test_rows_that_the_time_does_not_suffice_for_are_left_and_counted() -> None:
    leaving = Leaving(set(), portions=3)
    assert [leaving.maintain().deletions_left for _ in range(2)] == [1, 0]
