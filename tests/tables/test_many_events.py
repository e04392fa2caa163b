"""Many events of one Table cost one scan."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.limits import Limits
from sakuin.retrieval.index_version import TableCut
from sakuin.tables.document import written_table
from sakuin.tables.nodes import namespace

from tests.doubles.queue import MemoryQueues
from tests.worlds import SETTINGS, TableWorld, long

FIVE = [long(f"その{number}", 300) for number in range(5)]
SCANNED = ("page", "scanned")


@dataclass
class LosingQueues(MemoryQueues):
    """Queues whose first `failures` messages fail."""

    failures: int = 0

    def index(self, project_id: str, table_id: str, **asked: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("SQS did not take it")
        super().index(project_id, table_id, **asked)


@dataclass
class Line:
    """The tool queue of a world with pages of two strings: events first, messages of scans behind them."""

    world: TableWorld
    table: str
    outcomes: list[str] = field(default_factory=list)

    def hear(self, times: int = 1) -> list[str]:
        """Delivers so many events and all messages after them; returns the outcome of each."""
        self.outcomes = []
        for _ in range(times):
            self._scanned(for_event=True)
        while self.world.queues.asked:
            message = self.world.queues.asked.pop(0)
            if message[0] == "index":
                self._scanned(generation=message[3], skip=message[4])
            else:
                self.world.deliver(message)
        return self.outcomes

    def _scanned(self, **asked: Any) -> None:
        self.outcomes.append(self.world.scan(self.world.project, self.table, **asked).outcome)


@pytest.fixture
def line(world: TableWorld) -> Line:
    world.chunks_a_page = 2
    table = world.table(FIVE)
    world.tool(table, "")
    world.queues.asked.clear()
    return Line(world, table)


def tool_of(line: Line) -> str:
    (found,) = line.world.call("list_tools", project=line.world.project)
    return str(found["id"])


def test_many_events_of_one_generation_scan_each_page_once(line: Line) -> None:
    outcomes = line.hear(6)
    assert [outcome for outcome in outcomes if outcome in SCANNED] == ["page", "page", "scanned"]
    assert len(outcomes) == 8
    assert line.world.status(tool_of(line))["state"] == "ready"
    assert line.world.found(line.world.endpoint(tool_of(line))) == {f"/{number}" for number in range(5)}
    assert line.hear(6) == ["superseded"] * 6


def test_a_table_of_which_nothing_changed_is_scanned_in_one_page(line: Line) -> None:
    line.hear()
    line.world.call("table_changed", table=line.table, event="TableUpdated", tool=None)
    assert line.hear(3) == ["scanned", "superseded", "superseded"]
    assert line.world.status(tool_of(line))["state"] == "ready"


def test_a_page_is_as_many_strings_as_changed(line: Line) -> None:
    line.hear()
    line.world.call(
        "replace_table",
        table=line.table,
        data=written_table([FIVE[0], long("新しい甲", 300), FIVE[2], long("新しい乙", 300), long("新しい丙", 300)]),
        expected_version=None,
    )
    assert line.hear() == ["page", "scanned"]
    assert line.world.status(tool_of(line))["state"] == "ready"


def test_an_event_whose_scan_failed_on_its_way_scans_again(line: Line) -> None:
    line.world.queues = LosingQueues(failures=1)
    with pytest.raises(Unavailable):
        line.hear()
    line.world.queues.asked.clear()
    assert line.hear(3) == ["page", "superseded", "superseded", "page", "scanned"]
    assert line.world.status(tool_of(line))["state"] == "ready"


def test_a_requested_scan_starts_again_and_finishes(line: Line) -> None:
    line.world.scan(line.world.project, line.table, for_event=True)
    line.world.queues.asked.clear()
    assert line.hear() == ["superseded"]
    line.world.queues.index(line.world.project, line.table)
    assert line.hear(0) == ["page", "page", "scanned"]
    assert line.world.status(tool_of(line))["state"] == "ready"


def test_a_message_for_a_page_that_comes_twice_is_one_page(line: Line) -> None:
    line.world.scan(line.world.project, line.table, for_event=True)
    (after,) = [message for message in line.world.queues.asked if message[0] == "index"]
    line.world.queues.asked += [after, after]
    assert sorted(line.hear(0)) == ["page", "scanned", "superseded", "superseded"]


def test_an_event_long_after_an_unfinished_scan_starts_again(line: Line) -> None:
    line.world.scan(line.world.project, line.table, for_event=True)
    line.world.queues.asked.clear()
    line.world.sql("update table_scan set current_at = now() - interval '1 hour' where table_id = %s", line.table)
    assert line.hear() == ["page", "page", "scanned"]
    line.world.sql("update table_scan set current_at = now() - interval '1 hour' where table_id = %s", line.table)
    assert line.hear() == ["superseded"]


def test_a_reindex_compares_the_store_and_is_scanned_once_for_many_events(line: Line) -> None:
    line.hear()
    lost = list(line.world.rows(line.table))
    line.world.store.delete(namespace(line.world.project, line.table), lost, generation=10**6)
    assert line.world.rows(line.table) == {}
    for _ in range(4):
        line.world.call("reindex_tool", tool=tool_of(line))
    outcomes = line.hear(4)
    assert len([outcome for outcome in outcomes if outcome in SCANNED]) == 3
    assert sorted(line.world.rows(line.table)) == sorted(lost)


def test_each_index_is_scanned_by_itself(line: Line) -> None:
    line.hear()
    other = replace(line.world, settings=replace(SETTINGS, cut=TableCut(chunk_size=500)), chunks_a_page=100)
    outcomes = [other.scan(line.world.project, line.table, for_event=True).outcome for _ in range(2)]
    assert outcomes == ["scanned", "superseded"]


def test_a_table_that_cannot_be_indexed_is_read_once_for_many_events(line: Line) -> None:
    strict = replace(line.world.scan, limits=Limits(table_strings=1))
    outcomes = [strict(line.world.project, line.table, for_event=True).outcome for _ in range(3)]
    assert outcomes == ["unreadable", "superseded", "superseded"]
    assert line.world.status(tool_of(line))["state"] == "error"
