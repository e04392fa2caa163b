"""Unfinished work comes back: by its lease, by its row, or by maintenance."""

from collections.abc import Iterator

import pytest
from sakuin.platform.retry import MAX_RECEIVES

from tests.convergence.actions import END, Forget, GoOn, Maintenance, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import Schedule, scripted, settling
from tests.convergence.materials_checks import searchable
from tests.convergence.materials_machine import File, MaterialsMachine, Remove, Upload
from tests.convergence.materials_oracle import LEARNS, SYNONYMS
from tests.convergence.materials_world import MaterialsBackend
from tests.convergence.tables_actions import Change
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import TablesBackend

OLD, NEW = "公式に代入する。係数を読みとる。", "一次関数の傾きを求める。切片は別に読む。"
PAGE = "b.html"
EACH_MINUTE = Maintenance(later=False, place=END, fate=Fate.GO)
A_NIGHT = Maintenance(later=True, place=END, fate=Fate.GO)
NEXT, ITS_END = Work(0, False, END, Fate.GO), GoOn(0, END, Fate.GO)


@pytest.fixture
def table(tables: TablesBackend) -> Iterator[TablesMachine]:
    """A Table whose one string was replaced: its event is in the queue."""
    with settling(scripted(TablesMachine, tables)) as schedule:
        schedule.begin(document={"a": OLD}, scope="", indexed=True)
        schedule.step(Change("replace", 0, {"a": NEW}, "", sent=True))
        yield schedule


@pytest.fixture
def page(materials: MaterialsBackend) -> Iterator[MaterialsMachine]:
    """An uploaded page: its event is in the queue."""
    with settling(scripted(MaterialsMachine, materials)) as schedule:
        schedule.step(Upload(PAGE, {"rule-a": OLD}))
        yield schedule


def states(story: Schedule) -> list[str]:
    return [row.state for row in story.world.unfinished.rows()]


def bodies(story: Schedule) -> list[str]:
    """The messages that can be received."""
    return [message.body for message in story.world.sqs.waiting]


def pass_time(story: Schedule, seconds: int) -> None:
    """Lets seconds pass, with living workers."""
    story.world.time_passes(seconds)
    story.workers.time_passes(seconds, alive=True)


# ---------------------------------------------------------------- leases


def test_a_minute_after_its_worker_died_a_message_is_in_its_queue_again(table: TablesMachine) -> None:
    (body,) = bodies(table)
    table.step(Work(0, False, "rpc/plan_nodes", Fate.DIE_AFTER))
    pass_time(table, 55)
    assert bodies(table) == []
    pass_time(table, 5)
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
    pass_time(table, 90)
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


# ---------------------------------------------------------------- maintenance


def test_a_table_without_a_message_and_a_row_is_scanned_again(table: TablesMachine) -> None:
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


@pytest.mark.parametrize("key", [LEARNS, *SYNONYMS])
def test_an_authored_file_that_every_queue_has_forgotten_is_found_at_night(page: MaterialsMachine, key: str) -> None:
    page.workers.finish_all()
    page.step(File(key, 1))
    page.step(Forget(None))
    page.step(A_NIGHT)
    assert key in bodies(page)[0]


def test_a_page_that_was_not_written_with_its_new_learns_is_found_at_night(page: MaterialsMachine) -> None:
    page.workers.finish_all()
    page.step(File(LEARNS, 1))
    page.step(NEXT)
    assert "reindex" in bodies(page)[0]
    page.step(Forget(None))
    page.step(A_NIGHT)
    page.step(NEXT)
    assert "reindex" in bodies(page)[0]
    page.step(NEXT)
    page.step(A_NIGHT)
    assert bodies(page) == []


def test_a_deletion_that_every_queue_has_forgotten_is_found_at_night(page: MaterialsMachine) -> None:
    page.step(NEXT)
    page.step(Remove(PAGE, None))
    page.step(Forget(None))
    page.step(A_NIGHT)
    page.step(NEXT)
    assert searchable(page.world) == {}
