"""A Table that cannot be compared is told, and holds up no other: neither in a minute's look nor at night."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.errors import CircuitOpen, SakuinError, Unavailable
from sakuin.ports.reconciliation import ClaimedTable
from sakuin.services.reconcile_tables import ReconcileTables

TIMED_OUT = Unavailable("Supabase is not available (57014)", vendor="supabase")
ALL = [f"t{number:02}" for number in range(40)]


@dataclass
class Records:
    """Claims and store of forty Tables; `large` ones take more time than a question has, `bad` ones fail at the store.

    `turn` is the order in which they are checked.
    """

    large: set[str] = field(default_factory=set)
    bad: dict[str, BaseException] = field(default_factory=dict)
    turn: list[str] = field(default_factory=lambda: list(ALL))
    counted: list[str] = field(default_factory=list)

    def in_turn(self, *, limit: int, after: str | None = None, whole: bool = False) -> Sequence[str]:
        return [name for name in ALL if name > (after or "")][:limit] if whole else self.turn[:limit]

    def claimed(self, table_ids: Collection[str]) -> Sequence[ClaimedTable]:
        if self.large.intersection(table_ids):
            raise TIMED_OUT
        return [ClaimedTable("p", name, 1, True, False) for name in table_ids]

    def checked(self, table_ids: Collection[str]) -> None:
        self.turn = [name for name in self.turn if name not in table_ids] + sorted(table_ids)

    def doubt(self, table_id: str) -> None:
        self.turn = [table_id, *(name for name in self.turn if name != table_id)]

    def recorded(self, table_id: str) -> None:
        """Gone meanwhile; or it cannot be told."""
        self._asked(table_id)

    def count(self, name: str) -> int:
        self._asked(name[-3:])
        return 1

    def _asked(self, table_id: str) -> None:
        self.counted.append(table_id)
        if table_id in self.bad:
            raise self.bad[table_id]

    @property
    def reconcile(self) -> ReconcileTables:
        both: Any = self
        return ReconcileTables(both, both, both, both, lambda: "")

    def minute(self) -> list[tuple[str, str]]:
        found = self.reconcile.counted(limit=10, is_over=lambda: False)
        return [(one.rule, one.where) for one in found]


@pytest.mark.parametrize("records", [Records(large={"t03"}), Records(bad={"t03": TIMED_OUT})])
def test_a_table_that_fails_is_a_difference_and_every_other_has_its_turn(records: Records) -> None:
    found = [records.minute() for _ in range(4)]
    assert found == [[("failed", "t03")], [], [], []]
    assert {*records.counted, "t03"} == set(ALL)


@pytest.mark.parametrize("records", [Records(large={"t03"}), Records(bad={"t03": TIMED_OUT})])
def test_a_night_goes_past_a_table_that_fails(records: Records) -> None:
    after, found = None, []
    for _ in range(3):
        walked = records.reconcile.page(after, dry_run=False, is_over=lambda: False)
        after = walked.after
        found += [(one.rule, one.where, one.message) for one in walked.differences]
    assert found == [("failed", "t03", "It could not be compared: Supabase is not available (57014).")]
    assert (after, {*records.counted, "t03"}) == (None, set(ALL))


def test_a_vendor_that_is_not_asked_costs_no_table_its_turn() -> None:
    records = Records(bad={"t02": CircuitOpen("turbopuffer keeps failing", vendor="turbopuffer")})
    with pytest.raises(SakuinError, match="keeps failing"):
        records.minute()
    assert sorted(records.turn[:8]) == ALL[2:10]


def test_a_table_that_ends_its_worker_is_not_the_first_one_again() -> None:
    records = Records(bad={"t00": KeyboardInterrupt()})
    records.doubt = lambda table_id: None  # type: ignore[method-assign] - the dead do nothing any more
    with pytest.raises(KeyboardInterrupt):
        records.minute()
    assert records.turn[:10] == ALL[10:20]
