"""A Table that stands still is walked anew, soon where nothing can be on its way, and not for ever."""

from dataclasses import dataclass, field

import pytest
from sakuin.services.restart_tables import RestartTables

from tests.in_memory.work import MemoryWork, MemoryWorkQueues
from tests.tables.conftest import MemoryQueues


@dataclass
class StillTables:
    """The part of a `TableIndex` that is asked: since when Tables give no sign of life."""

    still: dict[str, int] = field(default_factory=dict)

    def stuck(self, seconds: int) -> list[tuple[str, str]]:
        return [("project", table) for table, since in self.still.items() if since > seconds]


@dataclass
class House:
    """One Table that stands still."""

    index: StillTables = field(default_factory=lambda: StillTables({"table": 130}))
    asks: MemoryQueues = field(default_factory=MemoryQueues)
    rows: MemoryWork = field(default_factory=MemoryWork)
    queues: MemoryWorkQueues = field(default_factory=MemoryWorkQueues)
    gave_up: list[tuple[str, str]] = field(default_factory=list)

    def maintained(self, *, minutes: int = 0) -> int:
        self.rows.now += minutes * 60
        restart = RestartTables(
            "index",
            self.index,  # type: ignore[arg-type]  # all that it asks of it
            self.asks,
            self.rows,
            self.queues,
            lambda table, reason: self.gave_up.append((table, reason)),
        )
        return restart()


@pytest.fixture
def house() -> House:
    return House()


def test_where_no_message_waits_two_minutes_without_a_sign_are_enough(house: House) -> None:
    assert house.maintained() == 1
    assert house.asks.asked == [("index", "project", "table", None, 0)]


def test_where_messages_wait_the_table_s_may_be_among_them(house: House) -> None:
    house.queues.line = 3
    assert house.maintained() == 0
    house.index.still["table"] = 1000
    assert house.maintained() == 1


def test_two_at_once_walk_it_once(house: House) -> None:
    assert [house.maintained(), house.maintained()] == [1, 0]


def test_after_five_walks_of_no_use_its_tools_say_so(house: House) -> None:
    assert [house.maintained(minutes=3) for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    assert house.gave_up == [("table", "Its indexing was started 5 times and stood still each time")]
    assert len(house.asks.asked) == 5
