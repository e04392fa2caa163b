"""What nobody holds any more comes back by its row, or without one by what stands behind the rows."""

from collections.abc import Iterator
from typing import Any

import pytest

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
AN_HOUR_LATER = Maintenance(later=True, place=END, fate=Fate.GO)
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
    return [row.state for row in story.world.rows.rows()]


def bodies(story: TablesMachine | MaterialsMachine) -> list[str]:
    return [message.body for message in story.world.sqs.waiting]


def test_a_minute_after_its_worker_died_a_forgotten_message_is_in_its_queue_again(table: TablesMachine) -> None:
    (body,) = bodies(table)
    table.step(Work(0, False, "rpc/walk_started", Fate.DIE_AFTER))
    table.step(Forget(None))
    assert (states(table), bodies(table)) == (["in_hand"], [])
    table.step(EACH_MINUTE)
    assert (states(table), bodies(table)) == (["waiting"], [body])


def test_who_is_alive_keeps_what_he_has(table: TablesMachine) -> None:
    table.step(Work(0, False, "rpc/want_nodes", Fate.GO))
    for _ in range(3):
        table.step(EACH_MINUTE)
    assert (states(table), bodies(table)) == (["in_hand"], [])


def test_what_its_queue_was_to_give_out_again_and_forgot_is_sent(table: TablesMachine) -> None:
    (body,) = bodies(table)
    table.step(Work(0, False, "rpc/walk_started", Fate.FAIL_BEFORE))
    table.step(ITS_END)
    assert (states(table), bodies(table)) == (["waiting"], [body])
    table.step(Forget(0))
    assert bodies(table) == []
    table.step(AN_HOUR_LATER)
    assert bodies(table) == [body]


def test_parked_work_is_in_no_queue_and_comes_back(table: TablesMachine) -> None:
    table.step(NEXT)
    (body,) = bodies(table)
    table.step(Work(0, False, "circuit", Fate.FAIL_BEFORE))
    table.step(ITS_END)
    assert (states(table), bodies(table)) == (["parked"], [])
    table.step(EACH_MINUTE)
    assert bodies(table) == [body]


def test_what_could_not_be_parked_is_sent_to_its_queue_again(table: TablesMachine) -> None:
    table.step(NEXT)
    (body,) = bodies(table)
    table.step(Work(0, False, "circuit", Fate.FAIL_BEFORE))
    table.step(GoOn(0, "rpc/work_ended", Fate.FAIL_BEFORE))
    table.step(ITS_END)
    assert (states(table), bodies(table)) == (["in_hand"], [body])


def test_a_table_that_no_row_speaks_of_is_walked_anew(table: TablesMachine) -> None:
    table.step(Work(0, False, "rpc/work_begun", Fate.DIE_BEFORE))
    table.step(Forget(None))
    assert (states(table), bodies(table)) == ([], [])
    for _ in range(2):
        table.step(EACH_MINUTE)
    assert len(bodies(table)) == 1


def test_a_page_whose_worker_died_comes_back_by_its_row(page: MaterialsMachine) -> None:
    (body,) = bodies(page)
    page.step(Work(0, False, "rpc/apply_material", Fate.DIE_BEFORE))
    page.step(Forget(None))
    page.step(EACH_MINUTE)
    assert body in bodies(page)


def test_a_page_that_waits_for_a_vendor_is_parked_and_comes_back(page: MaterialsMachine) -> None:
    (body,) = bodies(page)
    page.step(Work(0, False, "openai", Fate.FAIL_BEFORE))
    page.step(ITS_END)
    assert (states(page), bodies(page)) == (["parked"], [])
    page.step(EACH_MINUTE)
    assert body in bodies(page)


def test_an_upload_that_every_queue_has_forgotten_is_found_in_the_bucket(page: MaterialsMachine) -> None:
    page.step(Forget(None))
    page.step(AN_HOUR_LATER)
    page.step(NEXT)
    assert searchable(page.world).keys() == {"b"}


def test_a_deletion_that_every_queue_has_forgotten_is_found_in_the_bucket(page: MaterialsMachine) -> None:
    page.step(NEXT)
    page.step(Remove(PAGE, None))
    page.step(Forget(None))
    page.step(AN_HOUR_LATER)
    page.step(NEXT)
    assert searchable(page.world) == {}
