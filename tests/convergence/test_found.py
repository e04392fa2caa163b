"""The faults that schedules have found, each as a short schedule that ends as all of them must."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sakuin.tables.nodes import namespace

from tests.convergence.actions import END, Forget, GoOn, Maintenance, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import scripted, settling
from tests.convergence.materials_machine import File, MaterialsMachine, Remove, Restart, Upload
from tests.convergence.materials_oracle import LEARNS, SYNONYMS
from tests.convergence.tables_actions import Change
from tests.convergence.tables_checks import stored_texts
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.world import Backend

A, B, C = (
    "公式に代入する。係数を読みとる。",
    "一次関数の傾きを求める。切片は別に読む。",
    "三平方の定理は斜辺を先に見つける。",
)


@pytest.fixture
def story(backend: Backend) -> Iterator[TablesMachine]:
    """A Table whose one string is indexed."""
    with settling(scripted(TablesMachine, backend)) as schedule:
        schedule.begin(document={"a": A}, scope="", indexed=True)
        yield schedule


NEXT = Work(0, False, END, Fate.GO)
STORE = Work(0, False, "rpc/record_stored", Fate.GO)


def write(document: object) -> Change:
    return Change("replace", 0, document, "", sent=True)


def change(what: str, *, sent: bool = True) -> Change:
    return Change(what, 0, {}, "", sent=sent)


TABLES: dict[str, list[Any]] = {
    "a worker that dies between publishing and sweeping leaves no old rows": [
        *(write({"a": B}), NEXT, Work(0, False, "rpc/record_stored", Fate.DIE_AFTER))
    ],
    "rows of a text that was overtaken go, though their worker died": [
        *(write({"a": B}), NEXT, Work(0, False, "turbopuffer POST", Fate.GO)),
        *(write({"a": C}), NEXT, NEXT, GoOn(0, "", Fate.DIE_BEFORE)),
    ],
    "a text that comes back while another worker sweeps it stays": [
        *(write({"a": B}), NEXT, STORE, write({"a": A}), NEXT, NEXT, GoOn(0, END, Fate.GO))
    ],
    "a late write of a deleted Table brings no namespace back": [
        *(write({"a": B}), NEXT, Work(0, False, "openai", Fate.GO), change("delete table"), NEXT),
        GoOn(0, "turbopuffer POST", Fate.DIE_AFTER),
    ],
    "a project that is deleted while its Table is indexed leaves nothing": [
        *(write({"a": B}), NEXT, Work(0, False, "openai", Fate.GO), change("delete project"), NEXT)
    ],
    "rows that the store has lost are stored again": [change("lose rows", sent=False)],
    "rows that the store loses while they are replaced are stored again": [
        *(write({"a": B, "list": [C]}), NEXT, STORE, change("lose rows", sent=False), GoOn(0, END, Fate.GO))
    ],
    # Though every queue forgot the event.
    "rows that no Tool asks for any more go": [change("delete tool"), Forget(None)],
    "rows of a Tool that is switched off go": [change("switch tool"), Forget(None)],
    "a Tool whose place the document does not have says so": [Change("create tool", 0, {}, "/list", sent=True)],
}


@pytest.mark.parametrize("steps", TABLES.values(), ids=TABLES)
def test_a_table_ends_as_its_document_says(story: TablesMachine, steps: list[Any]) -> None:
    for step in steps:
        story.step(step)


def states(story: TablesMachine) -> set[str]:
    """The states of the Tools."""
    tools = [story.world.call("read_tool", tool=tool) for tool in story.oracle.tools]
    return {tool["metadata"]["search_index"]["state"] for tool in tools}


def test_the_next_worker_sweeps_what_another_has_not_swept_yet(story: TablesMachine) -> None:
    for step in (write({"a": B}), NEXT, replace(STORE, doubled=True), NEXT):
        story.step(step)
    assert states(story) == {"ready"}
    (table,) = story.oracle.documents
    held = stored_texts(story.world, namespace(story.world.project, table))
    assert held == {id: piece.text for id, piece in story.oracle.of_table(table).items()}


def test_a_table_is_not_ready_while_removed_rows_are_in_the_store(story: TablesMachine) -> None:
    # The embedding that the scan asked for is done before the scan comes again.
    for step in (write({"list": [C]}), Work(0, False, "rpc/finish_scan", Fate.DIE_AFTER), NEXT):
        story.step(step)
    assert states(story) == {"indexing"}


# ---------------------------------------------------------------- files that an author removes while events are lost

PAGE = "b.html"
A_NIGHT = Maintenance(later=True, place=END, fate=Fate.GO)


@pytest.fixture
def library(backend: Backend) -> Iterator[MaterialsMachine]:
    with settling(scripted(MaterialsMachine, backend)) as schedule:
        yield schedule


def test_a_page_that_is_replaced_and_removed_is_gone(library: MaterialsMachine) -> None:
    for step in (Upload(PAGE, {"def-b": A, "rule-a": A}), NEXT, Upload(PAGE, {"def-b": B}), NEXT, Remove(PAGE, None)):
        library.step(step)


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
    library.step(NEXT)
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
def page(backend: Backend) -> Iterator[MaterialsMachine]:
    """An indexed page, and the message that a language model is to be asked about it."""
    with settling(scripted(MaterialsMachine, backend)) as schedule:
        schedule.step(Upload(PAGE, {"rule-a": A}))
        schedule.step(NEXT)
        schedule.step(Maintenance(later=False, place=END, fate=Fate.GO))
        assert [message.body for message in schedule.world.sqs.waiting] == ['{"learns": {"material": "b"}}']
        yield schedule


@pytest.mark.parametrize("place", ["openai learns", "POST learns_cache", "rpc/apply_material"])
def test_a_page_that_changes_while_a_model_is_asked_keeps_its_new_text(page: MaterialsMachine, place: str) -> None:
    page.step(Work(0, False, place, Fate.GO))
    page.step(Upload(PAGE, {"rule-a": B}))
    page.step(NEXT)
    page.step(GoOn(0, END, Fate.GO))


def test_a_page_that_comes_back_with_the_same_bytes_is_asked_about_again(backend: Backend) -> None:
    with settling(scripted(MaterialsMachine, backend)) as schedule:
        schedule.begin(boxes={"rule-a": A}, indexed=True)
        schedule.step(Work(0, False, "", Fate.GO))
        schedule.step(Restart())
        schedule.step(Upload("ガ.html", {"rule-a": A}))


def test_a_page_whose_searchable_version_is_gone_is_not_asked_about_for_ever(page: MaterialsMachine) -> None:
    page.step(Upload(PAGE, None))
    page.step(Work(1, False, END, Fate.GO))
    page.step(Remove(PAGE, 1))
