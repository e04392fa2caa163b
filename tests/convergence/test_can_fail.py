"""The schedules find parts that are broken on purpose. Each story ends well with the part that is right."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sakuin.arguments import ChangesArguments
from sakuin.knowledge.model import ChangeResult, PageChange
from sakuin.platform.s3 import StoredObject
from sakuin.tables.nodes import PublishedNode, StoredChunkRow
from sakuin.tables.nodes import namespace as namespace_of

from tests.convergence.actions import END, Forget, GoOn, Work
from tests.convergence.interleaving import Fate
from tests.convergence.machine import Schedule, run_schedules, scripted
from tests.convergence.materials_machine import File, MaterialsMachine, Remove, Upload
from tests.convergence.materials_oracle import LEARNS
from tests.convergence.materials_world import MaterialsBackend
from tests.convergence.tables_actions import Change
from tests.convergence.tables_machine import TablesMachine
from tests.convergence.tables_world import TablesBackend
from tests.convergence.tally import Tally
from tests.doubles.bucket import MemoryBucket

ONE, OTHER = "公式に代入する。係数を読みとる。", "一次関数の傾きを求める。切片は別に読む。"
PAGE = "b.html"
NEXT = Work(0, False, END, Fate.GO)


@dataclass(frozen=True)
class Broken:
    """A part that is right but for what a test changes."""

    real: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def ends_well(schedule: Schedule, story: Callable[[Any], None]) -> None:
    """Runs a story, and then checks that it ends as all of them must."""
    try:
        story(schedule)
        schedule.teardown()
    finally:
        schedule.clear()


# ---------------------------------------------------------------- Tables


class SweepsEverything(Broken):
    """Deletes also what a newer generation stored meanwhile."""

    def sweep(self, namespace: str, nodes: Collection[PublishedNode]) -> int:
        return int(self.real.sweep(namespace, [replace(node, generation=1 << 40) for node in nodes]))

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        self.real.delete(namespace, doc_ids)


class ForgetsTheLast(Broken):
    """Acknowledges the last row of several without storing it."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, rows[:-1] if len(rows) > 1 else rows)


class StoresOtherText(Broken):
    """Stores another text."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        self.real.upsert(namespace, [replace(row, content=row.content + "？") for row in rows])


class SpoilsTheNextVersion(StoresOtherText):
    """Stores another text in the index version that is built beside the live one."""

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        is_live = len(namespace) == len(namespace_of("p" * 36, "t" * 36))
        (self.real if is_live else StoresOtherText(self.real)).upsert(namespace, rows)


class ReadsAnotherDocument(MemoryBucket):
    """Gives another document than the uploaded one."""

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        return StoredObject(json.dumps({"a": "ほかの文書です。だれも書いていません。"}).encode(), None)


def index_a_table(story: TablesMachine) -> None:
    story.begin(document={"a": ONE + OTHER}, scope="", indexed=True)
    story.holds()


def sweep_late(story: TablesMachine) -> None:
    """A text comes back while the worker that sweeps it pauses."""
    story.begin(document={"a": ONE}, scope="", indexed=True)
    story.step(Change("replace", 0, {"a": OTHER}, "", sent=True))
    story.step(NEXT)
    story.step(Work(0, False, "rpc/record_stored", Fate.GO))
    story.step(Change("replace", 0, {"a": ONE}, "", sent=True))
    for _ in range(2):
        story.step(NEXT)
    story.step(GoOn(0, END, Fate.GO))
    story.holds()


def upload_a_table(story: TablesMachine) -> None:
    index_a_table(story)
    story.step(Change("upload", 0, {"a": OTHER}, "", sent=True))
    story.workers.finish_all()
    story.holds()
    assert story.world.processed


@pytest.mark.parametrize(
    ("story", "two_versions"), [(index_a_table, True), (upload_a_table, False), (sweep_late, False)]
)
def test_a_story_of_tables_ends_well(
    tables: TablesBackend, story: Callable[[TablesMachine], None], two_versions: bool
) -> None:
    ends_well(scripted(TablesMachine, tables, two_versions=two_versions), story)


def test_an_index_version_beside_the_live_one_that_is_broken_is_found(tables: TablesBackend) -> None:
    broken = SpoilsTheNextVersion(tables.store)
    with pytest.raises(AssertionError, match="the store has not"):
        ends_well(scripted(TablesMachine, tables, two_versions=True, store=broken), index_a_table)


def test_an_uploaded_document_that_is_read_wrong_is_found(tables: TablesBackend) -> None:
    with pytest.raises(AssertionError, match="a text that it never had"):
        ends_well(scripted(TablesMachine, tables, bodies=ReadsAnotherDocument()), upload_a_table)


@pytest.mark.parametrize(
    ("broken", "story"),
    [(ForgetsTheLast, index_a_table), (StoresOtherText, index_a_table), (SweepsEverything, sweep_late)],
)
def test_a_store_that_is_broken_is_found(
    tables: TablesBackend, broken: type[Broken], story: Callable[[TablesMachine], None]
) -> None:
    with pytest.raises(AssertionError, match="the store has not"):
        ends_well(scripted(TablesMachine, tables, store=broken(tables.store)), story)


def test_random_schedules_find_a_store_that_is_broken(tables: TablesBackend) -> None:
    parts = {"store": StoresOtherText(tables.store)}
    with pytest.raises(AssertionError, match=r"the store has not|in the store too much"):
        run_schedules(TablesMachine, Tally(), schedules=50, backend=tables, parts=parts, shrink=False)


# ---------------------------------------------------------------- pages


class ForgetsAnExplanation(Broken):
    """Writes all explanations of a page but the last."""

    def apply(self, change: PageChange, **seen: Any) -> ChangeResult:
        chunks = change.chunks and change.chunks[:-1]
        return self.real.apply(replace(change, chunks=chunks), **seen)


class RemovesNothing(Broken):
    """Acknowledges the removal of a page and keeps it."""

    def apply(self, change: PageChange, **seen: Any) -> ChangeResult:
        return ChangeResult("applied", 1) if change.deleted else self.real.apply(change, **seen)


class ReadsTheFirstVersion(Broken):
    """Gives the first version of a page for each later one."""

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        first = self.real.versions(key)[0]
        return self.real.read(key, version_id=first, max_bytes=max_bytes)


class NotesNoVersions(Broken):
    """Writes pages without the versions of their `learns.yml`."""

    def apply(self, change: PageChange, **seen: Any) -> ChangeResult:
        return self.real.apply(replace(change, learns_files={}), **seen)


class TellsOfNoRemoval(Broken):
    """Tells of everything but what is gone."""

    def __call__(self, endpoint: Any, asked: ChangesArguments) -> dict[str, Any]:
        answer = self.real(endpoint, asked)
        return answer | {"changes": [each for each in answer["changes"] if "content_hash" in each]}


class LosesChanges(Broken):
    """Passes over a change that it has not told of."""

    def __call__(self, endpoint: Any, asked: ChangesArguments) -> dict[str, Any]:
        answer = self.real(endpoint, asked)
        return answer | {"changes": answer["changes"][:1]}


def index_a_page(story: MaterialsMachine) -> None:
    story.step(Upload(PAGE, {"def-b": ONE, "rule-a": ONE}))
    story.step(NEXT)


def replace_a_page(story: MaterialsMachine) -> None:
    index_a_page(story)
    story.step(Upload(PAGE, {"def-b": OTHER}))
    story.step(NEXT)


def read_and_replace_a_page(story: MaterialsMachine) -> None:
    """The feed is read before and after."""
    index_a_page(story)
    story.holds()
    story.step(Upload(PAGE, {"def-b": OTHER}))
    story.step(NEXT)
    story.holds()


def remove_a_page(story: MaterialsMachine) -> None:
    index_a_page(story)
    story.step(Remove(PAGE, None))
    story.step(NEXT)


def lose_a_request(story: MaterialsMachine) -> None:
    """The queue loses the request to write a page with its new `learns.yml`."""
    index_a_page(story)
    # The language model is asked: its answer would write the page again.
    story.world.each_minute()
    story.workers.finish_all()
    story.step(File(LEARNS, 1))
    story.step(NEXT)
    story.step(Forget(None))


def wait_for_a_vendor(story: MaterialsMachine) -> None:
    story.step(Upload(PAGE, {"def-b": ONE}))
    story.step(Work(0, False, "openai", Fate.FAIL_BEFORE))
    story.step(GoOn(0, END, Fate.GO))


@pytest.mark.parametrize("story", [index_a_page, replace_a_page, remove_a_page, lose_a_request, wait_for_a_vendor])
def test_a_story_of_pages_ends_well(materials: MaterialsBackend, story: Callable[[MaterialsMachine], None]) -> None:
    ends_well(scripted(MaterialsMachine, materials), story)


@pytest.mark.parametrize(
    ("part", "broken", "story", "found"),
    [
        ("broken_index", ForgetsAnExplanation, index_a_page, "does not say what its newest version says"),
        ("broken_index", RemovesNothing, remove_a_page, "is deleted and still found|never comes to rest"),
        ("broken_bucket", ReadsTheFirstVersion, replace_a_page, "does not say what its newest version says"),
        ("broken_index", NotesNoVersions, lose_a_request, "the author's lists"),
        ("broken_feed", TellsOfNoRemoval, read_and_replace_a_page, "the change feed from a cursor"),
        ("broken_feed", LosesChanges, index_a_page, "the change feed"),
    ],
)
def test_page_indexing_that_is_broken_is_found(
    materials: MaterialsBackend, part: str, broken: type[Broken], story: Callable[[MaterialsMachine], None], found: str
) -> None:
    with pytest.raises(AssertionError, match=found):
        ends_well(scripted(MaterialsMachine, materials, **{part: broken}), story)


def test_random_schedules_find_page_indexing_that_is_broken(materials: MaterialsBackend) -> None:
    parts = {"broken_index": ForgetsAnExplanation}
    with pytest.raises(AssertionError, match=r"is a mixture|does not say what"):
        run_schedules(MaterialsMachine, Tally(), schedules=50, backend=materials, parts=parts, shrink=False)


# ---------------------------------------------------------------- maintenance


@pytest.mark.parametrize(
    ("part", "story"), [("resumes", wait_for_a_vendor), ("asks", index_a_page)], ids=["resumes", "asks"]
)
def test_maintenance_that_does_nothing_is_found(
    materials: MaterialsBackend, part: str, story: Callable[[MaterialsMachine], None]
) -> None:
    with pytest.raises(AssertionError, match=r"unfinished work|never comes to rest"):
        ends_well(scripted(MaterialsMachine, materials, **{part: False}), story)
