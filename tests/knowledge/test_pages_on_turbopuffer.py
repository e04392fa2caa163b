"""Pages that are searched in turbopuffer: what is stored there, when it becomes current, and when it is deleted."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Unavailable
from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.turbopuffer import StoredPages, TurbopufferChunks, namespace
from sakuin.platform.calls import Retries
from sakuin.platform.turbopuffer.client import TurbopufferRows, connected
from sakuin.upkeep.index_versions import IndexVersionAdmin
from sakuin.wiring import maintain, mcp

from tests.builders import a_page
from tests.doubles.chunk_store import WatchedStore
from tests.worlds import DEPLOYED, SETTINGS, World, Worlds

ELSEWHERE = replace(SETTINGS, store="turbopuffer")
BOXES = {
    "rule-formula": "解の公式: 係数 a, b, c を公式に代入する。",
    "method-square": "平方完成: x の係数の半分の2乗を足して引く。",
}
CHANGED = BOXES | {"method-square": "平方完成: 定数項を移してから半分の2乗を足す。"}


class Killed(BaseException):
    """The worker dies."""


def kill() -> None:
    raise Killed


@pytest.fixture
def world(a_world: Worlds, stand_in: str) -> Iterator[World]:
    """A deployment with its pages in turbopuffer, without a page."""
    world = a_world(settings=ELSEWHERE, store=WatchedStore(TurbopufferRows(connected(stand_in, "any"))))
    world.indexes.add(ELSEWHERE)
    yield world
    for name in world.store.namespaces("pages_"):
        world.store.delete_namespace(name)


def found(world: World, query: str, filters: Filters = EVERYTHING) -> list[str]:
    return [each.id for each in world.search(query, filters=filters).results]


def stored(world: World) -> dict[str, int]:
    return dict(world.store.ids(namespace(DEPLOYED.bucket, ELSEWHERE.pages.space)))


def current(world: World) -> set[str]:
    rows = world.sql.execute(
        "select row_id from stored_row where id is not null and space = %s", [ELSEWHERE.pages.space]
    )
    return {row for (row,) in rows}


def later(world: World) -> None:
    """Lets a quarter of an hour pass, and runs maintenance."""
    world.sql.execute("update stored_row set changed_at = changed_at - interval '16 minutes'")
    pages(world).sweep()


def pages(world: World) -> StoredPages:
    return StoredPages(world.client, world.store, DEPLOYED.bucket)


def writes(world: World, act: Callable[[], object]) -> list[int]:
    """Returns the number of rows of each write while something is done."""
    counts: list[int] = []
    real = world.store.real

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def write(self, namespace: str, rows: Any, attributes: Any) -> None:
            counts.append(len(rows))
            real.write(namespace, rows, attributes)

    world.store.real = Counting()
    act()
    world.store.real = real
    return counts


def test_a_page_is_found_there_by_meaning_and_words_and_is_gone_when_it_is_deleted(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    assert found(world, "解の公式")[0] == "a#rule-formula"
    assert set(stored(world)) == current(world)
    (match, *_) = world.searched.matches(world.search.ranked_matches("解の公式", limit=5).asked)  # type: ignore[arg-type]
    assert (match.nearest_rank, match.matching_rank) == (1, 1)
    assert match.cosine is not None
    world.bucket.remove("a.html")
    world.settle()
    assert found(world, "解の公式") == []
    later(world)
    assert stored(world) == {}


def test_unchanged_work_costs_no_write_and_a_changed_explanation_costs_one_row(world: World) -> None:
    assert writes(world, lambda: world.put("a.html", a_page(BOXES))) == [2]
    assert writes(world, lambda: world.put("a.html", a_page(BOXES))) == []
    assert writes(world, lambda: world.put("a.html", a_page(CHANGED))) == [1]
    assert len(stored(world)) == 3
    assert found(world, "定数項を移す")[0] == "a#method-square"
    later(world)
    assert set(stored(world)) == current(world)
    assert len(current(world)) == 2


def test_a_content_that_comes_back_survives_the_deletion_of_its_old_row(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    world.put("a.html", a_page(CHANGED))
    sweep = pages(world)
    # Between the list of what to delete and its deletion the first content comes back.
    world.store.before["delete"] = lambda: world.put("a.html", a_page(BOXES)) and None
    sweep.sweep()
    later(world)
    assert set(stored(world)) == current(world)
    assert found(world, "係数の半分の2乗")[0] == "a#method-square"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_that_dies_around_its_write_loses_nothing_and_leaves_nothing(world: World, moment: str) -> None:
    world.put("a.html", a_page(BOXES))
    getattr(world.store, moment)["write"] = kill
    world.bucket.write("a.html", a_page(CHANGED))
    (message,) = world.bucket.take_messages()
    with pytest.raises(Killed):
        world.deliver(message)
    # The old version answers.
    assert found(world, "係数の半分の2乗")[0] == "a#method-square"
    assert "半分の2乗を足して引く" in world.search("平方完成").results[0].content
    for _ in range(2):
        world.deliver(message)
    assert "定数項" in world.search("平方完成").results[0].content
    later(world)
    assert set(stored(world)) == current(world)


def test_rows_of_a_version_that_is_never_applied_are_deleted(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    world.store.after["write"] = kill
    world.bucket.write("a.html", a_page(CHANGED))
    (message,) = world.bucket.take_messages()
    with pytest.raises(Killed):
        world.deliver(message)
    world.put("a.html", a_page({"rule-formula": BOXES["rule-formula"]}))
    world.deliver(message)
    assert found(world, "平方完成") == ["a#rule-formula"]
    later(world)
    assert set(stored(world)) == current(world)
    assert len(current(world)) == 1


def test_a_slow_writer_stores_its_rows_again_after_another_change_and_its_deletions(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    older = world.bucket.write("a.html", a_page({"tip-x": "符号のコツ: 括弧をつける。"}))
    (slow,) = world.bucket.take_messages()
    world.bucket.write("a.html", a_page(CHANGED))
    (newest,) = world.bucket.take_messages()

    def overtaken() -> None:
        # An older version is applied, then a sweep that lists all that is not current.
        world.deliver(slow)
        later(world)

    world.store.after["write"] = overtaken
    world.deliver(newest)
    assert world.upload_result("a.html", older).outcome == "applied"
    later(world)
    assert set(stored(world)) == current(world)
    assert found(world, "定数項を移す")[0] == "a#method-square"


def test_rows_that_the_store_lost_are_stored_again_at_night(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    world.put("b.html", a_page(CHANGED))
    before, embedded = stored(world), world.embedder.calls
    world.store.delete_namespace(namespace(DEPLOYED.bucket, ELSEWHERE.pages.space))
    assert found(world, "平方完成") == []
    assert {one.where for one in world.night()} == {"a", "b"}
    world.settle()
    assert (stored(world).keys(), world.embedder.calls) == (before.keys(), embedded)
    assert set(stored(world)) == current(world)
    assert found(world, "係数の半分の2乗")[0] == "a#method-square"
    assert world.night() == []


def test_a_search_stays_within_the_folder_of_its_key(world: World) -> None:
    for name in ("one/a.html", "one/deep/b.html", "two/c.html"):
        # Equal texts would be one result.
        world.put(name, a_page({anchor: f"{text}{name}" for anchor, text in BOXES.items()}))
    read = ReadKnowledge(world.client, "", Filters(folder="one"))
    own = found(world, "平方完成", read.within(EVERYTHING))
    assert {id.partition("#")[0] for id in own} == {"one/a", "one/deep/b"}
    deep = found(world, "平方完成", read.within(Filters(folder="one/deep")))
    assert {id.partition("#")[0] for id in deep} == {"one/deep/b"}
    assert found(world, "平方完成", read.within(Filters(material="two/c"))) == []


def test_reading_and_finding_need_no_store_and_a_search_says_that_it_is_away(world: World) -> None:
    world.put("a.html", a_page(BOXES))
    away = TurbopufferRows(connected("http://127.0.0.1:9", "any"), ask_now=Retries(1, 1, 0))
    chunks = TurbopufferChunks(world.searched.chunks.postgres, away, DEPLOYED.bucket)  # type: ignore[attr-defined]
    world.searched = replace(world.searched, chunks=chunks)
    with pytest.raises(Unavailable):
        world.search("平方完成")
    assert world.read.find("平方完成", EVERYTHING, None).matches
    assert world.read.outline("a")[0]
    assert world.read.chunks(["a#method-square"])[0] is not None


def test_another_store_is_built_beside_the_live_one_without_embedding(a_world: Worlds, stand_in: str) -> None:
    world = a_world(store=WatchedStore(TurbopufferRows(connected(stand_in, "any"))))
    world.indexes.add(SETTINGS)
    world.put("a.html", a_page(BOXES))
    before, embedded = found(world, "解の公式"), world.embedder.calls
    world.settings = ELSEWHERE

    def run() -> None:
        maintain.building(world.clients)()
        world.settle()

    def of(version: str | None) -> list[str]:
        search = mcp.Searches(world.clients, world.kept).knowledge_search(version)
        return [each.id for each in search("解の公式").results]

    run()
    assert (of(SETTINGS.id), of(ELSEWHERE.id), world.embedder.calls) == (before, before, embedded)
    # Both are written to while both are kept.
    world.put("a.html", a_page(CHANGED))
    assert of(SETTINGS.id) == of(ELSEWHERE.id)
    world.indexes.activate(ELSEWHERE.id)
    world.indexes.delete(SETTINGS.id, seconds=0)
    # Its vectors are taken from the other store, too.
    embedded = world.embedder.calls
    world.settings = SETTINGS
    run()
    assert (of(SETTINGS.id), world.embedder.calls) == (of(ELSEWHERE.id), embedded)
    world.indexes.activate(SETTINGS.id)
    IndexVersionAdmin(world.indexes, SETTINGS).indexes.delete(ELSEWHERE.id, seconds=0)
    assert world.store.namespaces("pages_")
    for _ in range(5):
        pages(world).sweep()
        world.indexes.sweep_vectors(limit=2_000)
    assert world.store.namespaces("pages_") == []
    assert world.rows("stored_row") == [[]]
    assert found(world, "解の公式") == before
