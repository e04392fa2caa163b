"""A Table that cannot be compared is reported and does not stop others."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sakuin.errors import CircuitOpen, Unavailable
from sakuin.tables.reconcile import ReconcileTables, TableSummary

TIMED_OUT = Unavailable("Supabase is not available (57014)", vendor="supabase")
ALL = [f"t{number:02}" for number in range(40)]


@dataclass
class Records:
    """Records and store of forty Tables; `large` ones time out, `bad` ones fail at the store."""

    large: set[str] = field(default_factory=set)
    bad: dict[str, BaseException] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)

    def ids_after(self, table_id: str | None, *, limit: int) -> Sequence[str]:
        return [name for name in ALL if name > (table_id or "")][:limit]

    def of_tables(self, table_ids: Collection[str]) -> Sequence[TableSummary]:
        if self.large.intersection(table_ids):
            raise TIMED_OUT
        return [TableSummary("p", name, True, False) for name in table_ids]

    def recorded_rows(self, table_id: str) -> None:
        self.compared.append(table_id)
        if table_id in self.bad:
            raise self.bad[table_id]

    @property
    def reconcile(self) -> ReconcileTables:
        both: Any = self
        return ReconcileTables(both, both, both, both, lambda: "")


@pytest.mark.parametrize("records", [Records(large={"t03"}), Records(bad={"t03": TIMED_OUT})])
def test_a_night_goes_past_a_table_that_fails(records: Records) -> None:
    after, found = None, []
    for _ in range(3):
        page = records.reconcile.page(after, dry_run=False, is_over=lambda: False)
        after = page.after
        found += [(one.rule, one.where, one.message) for one in page.differences]
    assert found == [("failed", "t03", "It could not be compared: Supabase is not available (57014).")]
    assert (after, {*records.compared, "t03"}) == (None, set(ALL))


def test_a_vendor_that_is_not_called_costs_no_table_its_turn() -> None:
    records = Records(bad={"t02": CircuitOpen("turbopuffer keeps failing", vendor="turbopuffer")})
    with pytest.raises(CircuitOpen, match="keeps failing"):
        records.reconcile.page(None, dry_run=False, is_over=lambda: False)


def test_when_the_time_is_over_a_page_ends_after_the_table_that_was_compared_last() -> None:
    records = Records()
    places: list[str | None] = []
    for _ in range(len(ALL)):
        places.append(records.reconcile.page(places[-1] if places else None, dry_run=False, is_over=lambda: True).after)
    assert (places, records.compared) == ([*ALL[:-1], None], ALL)
