"""What a worker did not finish comes back: by its lease, by its row, or by what stands behind both."""

from collections.abc import Iterator
from typing import Any

import pytest
from sakuin.platform.retry import MAX_RECEIVES

from tests.convergence.interleaving import Fate
from tests.convergence.materials_checks import searchable
from tests.convergence.materials_machine import MaterialsMachine, Remove, Upload
from tests.convergence.materials_world import MaterialsHouse
from tests.convergence.tables_actions import END, Change, Forget, GoOn, Maintenance, Work
from tests.convergence.tables_house import TablesHouse
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tally import Tally

OLD, NEW = "公式に代入する。係数を読みとる。", "一次関数の傾きを求める。切片は別に読む。"
PAGE = "b.html"
EACH_MINUTE = Maintenance(later=False, place=END, fate=Fate.GO)
A_NIGHT = Maintenance(later=True, place=END, fate=Fate.GO)
NEXT, ITS_END = Work(0, False, END, Fate.GO), GoOn(0, END, Fate.GO)


@pytest.fixture
def table(tables: TablesHouse) -> Iterator[TablesMachine]:
    """A Table whose one string was replaced: its event is in the queue. In the end the dust settles."""
    made: Any = type("Story", (TablesMachine,), {"house": tables, "tally": Tally()})
    machine: TablesMachine = made()
    machine.begin(document={"a": OLD}, scope="", indexed=True)
    machine.step(Change("replace", 0, {"a": NEW}, "", sent=True))
    yield machine
    machine.teardown()


@pytest.fixture
def page(materials: MaterialsHouse) -> Iterator[MaterialsMachine]:
    """An uploaded page: its event is in the queue. In the end the dust settles."""
    made: Any = type("Story", (MaterialsMachine,), {"house": materials, "tally": Tally()})
    machine: MaterialsMachine = made()
    machine.step(Upload(PAGE, {"rule-a": OLD}))
    yield machine
    machine.teardown()


def states(story: TablesMachine | MaterialsMachine) -> list[str]:
    return [row.state for row in story.world.unfinished.rows()]


def bodies(story: TablesMachine | MaterialsMachine) -> list[str]:
    """The messages that can be received."""
    return [message.body for message in story.world.sqs.waiting]


def passes(story: TablesMachine | MaterialsMachine, seconds: int) -> None:
    """So many seconds, with those at work alive."""
    story.world.time_passes(seconds)
    story.crew.time_passes(seconds, alive=True)


# ---------------------------------------------------------------- leases


def test_a_minute_after_its_worker_died_a_message_is_in_its_queue_again(table: TablesMachine) -> None:
    (body,) = bodies(table)
    table.step(Work(0, False, "rpc/plan_nodes", Fate.DIE_AFTER))
    passes(table, 55)
    assert bodies(table) == []
    passes(table, 5)
    assert (states(table), bodies(table)) == ([], [body])


def test_a_worker_that_is_alive_keeps_its_message(table: TablesMachine) -> None:
    table.step(Work(0, False, "rpc/plan_nodes", Fate.GO))
    # No worker lives for longer.
    for _ in range(10):
        table.step(EACH_MINUTE)
        assert bodies(table) == []
    table.step(ITS_END)


# ---------------------------------------------------------------- rows of unfinished work


def test_a_retry_that_its_queue_forgot_is_sent_again(table: TablesMachine) -> None:
    table.step(Work(0, False, "rpc/plan_nodes", Fate.FAIL_BEFORE))
    table.step(ITS_END)
    assert states(table) == ["retrying"]
    table.step(Forget(None))
    for _ in range(2):
        table.step(EACH_MINUTE)
        assert bodies(table) == []
    table.step(EACH_MINUTE)
    (body,) = bodies(table)
    assert '"resumed": true' in body


def test_a_table_that_waits_is_in_no_queue_and_comes_back(table: TablesMachine) -> None:
    table.step(NEXT)
    assert '"embed"' in bodies(table)[0]
    while bodies(table):
        table.step(Work(0, False, "openai", Fate.FAIL_BEFORE))
        table.step(ITS_END)
    assert (states(table), table.world.sqs.messages) == (["waiting"], [])
    for _ in range(2):
        table.step(EACH_MINUTE)
    # A probe of one batch.
    (body,) = bodies(table)
    assert '"embed"' in body


def test_work_that_cannot_be_recorded_waits_as_a_copy_in_its_queue(table: TablesMachine) -> None:
    table.step(NEXT)
    (body, *_others) = bodies(table)
    before = len(table.world.sqs.messages)
    table.step(Work(0, False, "openai", Fate.FAIL_BEFORE))
    table.step(GoOn(0, "rpc/record_unfinished", Fate.FAIL_BEFORE))
    table.step(ITS_END)
    assert (states(table), len(table.world.sqs.messages)) == ([], before)
    assert body not in bodies(table)
    passes(table, 90)
    assert body in bodies(table)


def test_a_page_that_waits_for_a_vendor_is_in_no_queue_and_comes_back(page: MaterialsMachine) -> None:
    page.step(Work(0, False, "openai", Fate.FAIL_BEFORE))
    page.step(ITS_END)
    assert (states(page), page.world.sqs.messages) == (["waiting"], [])
    page.step(EACH_MINUTE)
    (body,) = bodies(page)
    assert PAGE in body


def test_a_page_whose_worker_dies_at_the_last_delivery_has_a_row_that_says_so(page: MaterialsMachine) -> None:
    for _ in range(MAX_RECEIVES):
        page.step(Work(0, False, "rpc/apply_material", Fate.DIE_BEFORE))
        page.step(EACH_MINUTE)
    assert (states(page), bodies(page), len(page.world.sqs.dead)) == (["failed"], [], 1)


# ---------------------------------------------------------------- what stands behind both


def test_a_table_that_nothing_speaks_of_is_scanned_again(table: TablesMachine) -> None:
    table.step(Work(0, False, "rpc/begin_scan", Fate.DIE_BEFORE))
    table.step(Forget(None))
    assert (states(table), table.world.sqs.messages) == ([], [])
    for _ in range(2):
        table.step(EACH_MINUTE)
    assert len(bodies(table)) == 1


def test_an_upload_that_every_queue_has_forgotten_is_found_at_night(page: MaterialsMachine) -> None:
    page.step(Forget(None))
    page.step(A_NIGHT)
    page.step(NEXT)
    assert searchable(page.world).keys() == {"b"}


def test_a_deletion_that_every_queue_has_forgotten_is_found_at_night(page: MaterialsMachine) -> None:
    page.step(NEXT)
    page.step(Remove(PAGE, None))
    page.step(Forget(None))
    page.step(A_NIGHT)
    page.step(NEXT)
    assert searchable(page.world) == {}
