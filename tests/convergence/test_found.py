"""The faults that schedules have found, each as a short schedule that ends as all of them must."""

from collections.abc import Iterator

import pytest
from sakuin.tables.nodes import namespace

from tests.convergence.actions import END, Forget, GoOn, Maintenance, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import scripted, settling
from tests.convergence.materials_machine import File, MaterialsMachine, Remove, Upload
from tests.convergence.materials_oracle import LEARNS, SYNONYMS
from tests.convergence.materials_world import MaterialsBackend
from tests.convergence.tables_actions import Change
from tests.convergence.tables_checks import stored_texts
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import TablesBackend

A, B, C = (
    "公式に代入する。係数を読みとる。",
    "一次関数の傾きを求める。切片は別に読む。",
    "三平方の定理は斜辺を先に見つける。",
)


@pytest.fixture
def story(tables: TablesBackend) -> Iterator[TablesMachine]:
    """A Table whose one string is indexed."""
    with settling(scripted(TablesMachine, tables)) as schedule:
        schedule.begin(document={"a": A}, scope="", indexed=True)
        yield schedule


def replace_and_scan(story: TablesMachine, document: object) -> None:
    story.step(Change("replace", 0, document, "", sent=True))
    story.step(Work(0, False, END, Fate.GO))


def states(story: TablesMachine) -> set[str]:
    """The states of the Tools."""
    tools = [story.world.call("read_tool", tool=tool) for tool in story.oracle.tools]
    return {tool["metadata"]["search_index"]["state"] for tool in tools}


def test_a_worker_that_dies_between_publishing_and_sweeping_leaves_no_old_rows(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B})
    story.step(Work(0, False, "rpc/record_stored", Fate.DIE_AFTER))


def test_the_next_worker_sweeps_what_another_has_not_swept_yet(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B})
    story.step(Work(0, True, "rpc/record_stored", Fate.GO))
    story.step(Work(0, False, END, Fate.GO))
    assert states(story) == {"ready"}
    (table,) = story.oracle.documents
    held = stored_texts(story.world, namespace(story.project, table))
    assert held == {id: piece.text for id, piece in story.oracle.of_table(table).items()}


def test_a_table_is_not_ready_while_removed_rows_are_in_the_store(story: TablesMachine) -> None:
    story.step(Change("replace", 0, {"list": [C]}, "", sent=True))
    story.step(Work(0, False, "rpc/finish_scan", Fate.DIE_AFTER))
    # The embedding that the scan asked for is done before the scan comes again.
    story.step(Work(0, False, END, Fate.GO))
    assert states(story) == {"indexing"}


def test_rows_of_a_text_that_was_overtaken_go_though_their_worker_died(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B})
    story.step(Work(0, False, "turbopuffer POST", Fate.GO))
    replace_and_scan(story, {"a": C})
    story.step(Work(0, False, END, Fate.GO))
    story.step(GoOn(0, "", Fate.DIE_BEFORE))


def test_a_late_write_of_a_deleted_table_brings_no_namespace_back(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B})
    story.step(Work(0, False, "openai", Fate.GO))
    story.step(Change("delete table", 0, {}, "", sent=True))
    story.step(Work(0, False, END, Fate.GO))
    story.step(GoOn(0, "turbopuffer POST", Fate.DIE_AFTER))


def test_rows_that_the_store_has_lost_are_stored_again(story: TablesMachine) -> None:
    story.step(Change("lose rows", 0, {}, "", sent=False))


def test_rows_that_the_store_loses_while_they_are_replaced_are_stored_again(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B, "list": [C]})
    story.step(Work(0, False, "rpc/record_stored", Fate.GO))
    story.step(Change("lose rows", 0, {}, "", sent=False))
    story.step(GoOn(0, END, Fate.GO))


def test_a_project_that_is_deleted_while_its_table_is_indexed_leaves_nothing(story: TablesMachine) -> None:
    replace_and_scan(story, {"a": B})
    story.step(Work(0, False, "openai", Fate.GO))
    story.step(Change("delete project", 0, {}, "", sent=True))
    story.step(Work(0, False, END, Fate.GO))


@pytest.mark.parametrize("what", ["delete tool", "switch tool"])
def test_rows_that_no_tool_asks_for_go_though_every_queue_forgot_the_event(story: TablesMachine, what: str) -> None:
    story.step(Change(what, 0, {}, "", sent=True))
    story.step(Forget(None))


# ---------------------------------------------------------------- files that an author removes while events are lost

PAGE = "b.html"
A_NIGHT = Maintenance(later=True, place=END, fate=Fate.GO)
NEXT = Work(0, False, END, Fate.GO)


@pytest.fixture
def library(materials: MaterialsBackend) -> Iterator[MaterialsMachine]:
    with settling(scripted(MaterialsMachine, materials)) as schedule:
        yield schedule


def remove_unheard(library: MaterialsMachine, key: str) -> None:
    library.step(Remove(key, None))
    library.step(Forget(None))


def test_synonyms_that_a_dying_worker_stored_go_with_their_file(library: MaterialsMachine) -> None:
    library.step(File(SYNONYMS[0], 1))
    library.step(Work(0, False, "rpc/store_synonyms", Fate.DIE_AFTER))
    remove_unheard(library, SYNONYMS[0])


def test_learns_that_a_page_read_before_the_event_of_their_file_go_with_it(library: MaterialsMachine) -> None:
    library.step(File(LEARNS, 1))
    library.step(Forget(None))
    library.step(Upload(PAGE, {"def-b": A}))
    library.step(Work(0, False, END, Fate.GO))
    (found,) = library.backend.sql.execute("select learns_source from knowledge_chunks").fetchall()
    assert found == ("author",)
    remove_unheard(library, LEARNS)


def bodies(library: MaterialsMachine) -> list[str]:
    """The messages that can be received."""
    return [message.body for message in library.world.sqs.waiting]


@pytest.mark.parametrize("key", [LEARNS, *SYNONYMS])
def test_an_authored_file_that_every_queue_has_forgotten_is_found_at_night(library: MaterialsMachine, key: str) -> None:
    library.step(Upload(PAGE, {"rule-a": A}))
    library.workers.finish_all()
    library.step(File(key, 1))
    library.step(Forget(None))
    library.step(A_NIGHT)
    assert key in bodies(library)[0]


def test_a_page_that_was_not_written_with_its_new_learns_is_found_at_night(library: MaterialsMachine) -> None:
    library.step(Upload(PAGE, {"rule-a": A}))
    library.workers.finish_all()
    library.step(File(LEARNS, 1))
    library.step(NEXT)
    assert "reindex" in bodies(library)[0]
    library.step(Forget(None))
    library.step(A_NIGHT)
    library.step(NEXT)
    assert "reindex" in bodies(library)[0]
    library.step(NEXT)
    library.step(A_NIGHT)
    assert bodies(library) == []


# ---------------------------------------------------------------- learns of a language model


@pytest.fixture
def page(materials: MaterialsBackend) -> Iterator[MaterialsMachine]:
    """An indexed page, and the message that a language model is to be asked about it."""
    with settling(scripted(MaterialsMachine, materials)) as schedule:
        schedule.step(Upload(PAGE, {"rule-a": A}))
        schedule.step(Work(0, False, END, Fate.GO))
        schedule.step(Maintenance(later=False, place=END, fate=Fate.GO))
        assert [message.body for message in schedule.world.sqs.waiting] == ['{"learns": {"material": "b"}}']
        yield schedule


@pytest.mark.parametrize("place", ["openai learns", "POST learns_cache", "rpc/apply_material"])
def test_a_page_that_changes_while_a_model_is_asked_keeps_its_new_text(page: MaterialsMachine, place: str) -> None:
    page.step(Work(0, False, place, Fate.GO))
    page.step(Upload(PAGE, {"rule-a": B}))
    page.step(Work(0, False, END, Fate.GO))
    page.step(GoOn(0, END, Fate.GO))


def test_a_page_whose_searchable_version_is_gone_is_not_asked_about_for_ever(page: MaterialsMachine) -> None:
    page.step(Upload(PAGE, None))
    page.step(Work(1, False, END, Fate.GO))
    page.step(Remove(PAGE, 1))
