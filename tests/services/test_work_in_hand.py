"""Rows beside the work: they beat while it lasts, end with it, and never stand in its way."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from sakuin.domain.work import Begun, Dead, Done, Ended, Parked
from sakuin.services.work_in_hand import WorkInHand

from tests.in_memory.work import MemoryWork, a_message


@dataclass
class Beaten(MemoryWork):
    """Rows that tell of the second sign of life."""

    twice: threading.Event = field(default_factory=threading.Event)

    def beat(self, ids: object) -> None:
        try:
            super().beat(list(ids))  # type: ignore[call-overload]
        finally:
            self.tries = getattr(self, "tries", 0) + 1
            if self.tries >= 2:
                self.twice.set()


def held(rows: MemoryWork, warn: Callable[[str], None] = pytest.fail, beat_seconds: float = 10.0) -> WorkInHand:
    return WorkInHand(rows, [a_message()], warn, beat_seconds=beat_seconds)


def test_it_beats_while_the_work_lasts_and_no_longer() -> None:
    rows, before = Beaten(), set(threading.enumerate())
    holding = held(rows, beat_seconds=0.001)
    assert rows.twice.wait(60)
    assert holding.let_go([Ended(a_message(), Done())])
    assert rows.table == {}
    assert {thread for thread in threading.enumerate() if thread.name == "work in hand"} <= before


def test_what_is_parked_is_written_at_the_end() -> None:
    rows = MemoryWork()
    assert held(rows).let_go([Ended(a_message(), Parked(60, "away", "openai"))])
    assert rows.table["m1"].state == "parked"


def test_it_says_how_often_a_message_was_taken() -> None:
    rows = MemoryWork()
    held(rows).let_go([])
    holding = held(rows)
    assert (holding.begun("m1"), holding.begun("nobody")) == (Begun(2, 0), Begun())
    holding.let_go([])


def test_the_work_goes_on_without_rows_and_the_log_knows() -> None:
    warnings: list[str] = []
    holding = held(MemoryWork(down=True), warnings.append)
    assert holding.begun("m1") == Begun()
    assert not holding.let_go([Ended(a_message(), Done())])
    assert warnings == ["work in hand is not written: Supabase did not answer"]


def test_what_cannot_be_parked_is_said_to_be_not_parked() -> None:
    warnings: list[str] = []
    holding = held(MemoryWork(down=True), warnings.append)
    assert not holding.let_go([Ended(a_message(), Dead("it failed"))])
    assert len(warnings) == 2


def test_a_heartbeat_that_fails_is_no_failure_of_the_work() -> None:
    warnings: list[str] = []
    rows = Beaten()
    holding = held(rows, warnings.append, beat_seconds=0.001)
    holding.begun("m1")
    rows.down = True
    rows.twice.clear()
    rows.tries = 0
    assert rows.twice.wait(60)
    rows.down = False
    assert holding.let_go([Ended(a_message(), Done())])
    assert "a heartbeat is not written: Supabase did not answer" in warnings
