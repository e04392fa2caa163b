"""Indexing one version of a page."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Conflict, Unavailable
from sakuin.knowledge.index_page import PageVersion
from sakuin.knowledge.learns.actions import names_action
from sakuin.knowledge.messages import read_event
from sakuin.knowledge.model import ChangeResult, PageChange
from sakuin.retrieval.index_version import PageIndexVersion

from tests.builders import a_page
from tests.worlds import World

KEY = "junior/二次方程式の解き方_教材.html"
MATERIAL = "junior/二次方程式の解き方_教材"
BOXES = {
    "rule-formula": "解の公式: 係数 a, b, c を公式に代入する。",
    "method-square": "平方完成: x の係数の半分の2乗を足して引く。",
    "tip-sign": "符号のコツ: b が負のときは括弧をつける。",
}


def test_the_same_page_is_another_version_of_which_nothing_is_read_or_written(world: World) -> None:
    world.put("learns.yml", f"{MATERIAL}:\n  tip-sign: [一つ目を調べる方法, 二つ目の手順, 三つ目の見方]\n".encode())
    world.put(KEY, a_page(BOXES))
    [(begin,)] = world.sql.execute("select pg_current_xact_id()::text::bigint").fetchall()
    before, rows = world.state(MATERIAL), world.chunks(MATERIAL)
    version = world.put(KEY, a_page(BOXES))
    after = world.state(MATERIAL)
    assert (after.source.version_id, after.indexed_version_id) == (version, version)
    assert (after.status, after.chunks_count, after.page_hash) == ("ready", len(BOXES), before.page_hash)
    assert (before.words is None, after.words) == (False, before.words)
    assert world.upload_result(KEY, version).outcome == "applied"
    assert (world.chunks(MATERIAL), world.embedder.calls) == (rows, 1)
    for table in ("knowledge_chunks", "chunk_words", "posting"):
        written = f"select count(*) from {table} where xmin::text::bigint > %s"
        assert world.sql.execute(written, [begin]).fetchall() == [(0,)], table


def test_the_same_page_is_read_where_something_else_changed(world: World) -> None:
    def kept() -> bool:
        world.sql.execute("update material set chunks_count = 99")
        world.put(KEY, a_page(BOXES))
        assert (world.state(MATERIAL).status, len(world.chunks(MATERIAL))) == ("ready", len(BOXES))
        return world.state(MATERIAL).chunks_count == 99

    world.put(KEY, a_page(BOXES))
    assert kept()
    world.put(KEY, a_page(BOXES | {"tip-sign": "別のコツ: 図をかく。"}))
    assert not kept()
    world.put(KEY, b"%PDF-1.7")
    assert not kept()
    world.bucket.remove(KEY)
    world.settle()
    assert not kept()
    world.settings = replace(world.settings, model=replace(world.settings.model, name="another"))
    assert (kept(), kept()) == (False, True)


def test_one_changed_rule_costs_one_text_and_touches_one_chunk(world: World) -> None:
    world.put(KEY, a_page(BOXES))
    before = {chunk.anchor: chunk.generation for chunk in world.chunks(MATERIAL)}
    embedded = len(world.embedder.embedded)
    world.put(KEY, a_page(BOXES | {"tip-sign": "符号のコツ: b が負のときは二重の括弧をつける。"}))
    after = {chunk.anchor: chunk.generation for chunk in world.chunks(MATERIAL)}
    assert len(world.embedder.embedded) == embedded + 1
    assert {anchor for anchor in after if after[anchor] != before[anchor]} == {"tip-sign"}


def test_words_of_the_same_text_are_not_analyzed_again_even_if_another_worker_replaces_them(world: World) -> None:
    def words(material: str) -> dict[str, tuple[list[str], list[int]]]:
        rows = "select id, terms, impacts from public.chunk_words where is_current and material = %s"
        return {id.partition("#")[2]: (terms, impacts) for id, terms, impacts in world.sql.execute(rows, [material])}

    world.put(KEY, a_page(BOXES))
    for boxes in (
        BOXES | {"tip-sign": "別のコツ: 図をかく。"},
        dict.fromkeys(BOXES, "ほかの文: 何も同じではない。"),
        BOXES,
    ):
        world.bucket.write(KEY, a_page(boxes))
    second, third, fourth = world.bucket.take_messages()
    index = _Interrupted(world, times=0)
    deliver(world, index, second)
    assert index.analyzed == [{"tip-sign"}]
    index.interrupt, index.left = (lambda: world.deliver(third)), 1
    deliver(world, index, fourth)
    assert index.analyzed == [{"tip-sign"}, {"tip-sign"}, set(BOXES)]
    world.put("new.html", a_page(BOXES))
    assert words(MATERIAL) == words("new")
    # A vocabulary depends on the language.
    world.bucket.write(KEY, a_page(BOXES).replace(b"lang='ja'", b"lang='de'"))
    deliver(world, index, world.bucket.take_messages()[0])
    assert index.analyzed[-1] == set(BOXES)


def deliver(world: World, index: "_Interrupted", message: str) -> None:
    event = read_event(json.loads(message))
    assert event
    replace(world.events, pages=replace(world.apply_page, index=index)).process_event(event)


def test_a_page_is_found_by_its_headings_and_by_its_semantic_ids(world: World) -> None:
    docs = "<main><h1>Sails</h1><p>They catch the wind.</p><h2 id=reefing>Reefing</h2><p>A smaller sail.</p>{}</main>"
    world.put("docs/sails.html", docs.format("<div class='admonition tip'>Reef before you have to.</div>").encode())
    ids = ["docs/sails#:~:sails", "docs/sails#reefing", "docs/sails#reefing:~:tip"]
    assert [f"docs/sails#{chunk.anchor}" for chunk in world.chunks("docs/sails")] == ids
    urls = [world.read.url(chunk.material, chunk.anchor) for chunk in world.read.chunks(ids) if chunk is not None]
    assert urls == ["/docs/sails.html", "/docs/sails.html#reefing", "/docs/sails.html#reefing"]
    found = {hit.id: hit.url for hit in world.search("Reef before you have to.").results}
    assert found["docs/sails#reefing:~:tip"].startswith("/docs/sails.html#reefing:~:text=")
    world.put("docs/sails.html", docs.format("<p id=tip-reef>Reef before you have to.</p>").encode())
    assert [chunk.anchor for chunk in world.chunks("docs/sails")] == [":~:sails", "reefing", "tip-reef"]


@pytest.mark.scenario("knowledge-index/learns-are-action-oriented")
def test_every_element_with_an_id_gets_items_that_name_an_action_and_a_section_none(world: World) -> None:
    world.put(KEY, a_page(BOXES | {"ex-1": "噴水の高さ: h=1.5 のとき。", "def-d": "判別式とは: 根号の中。"}))
    for chunk in world.chunks(MATERIAL):
        assert 3 <= len(chunk.learns.items) <= 5
        assert all(names_action(item) for item in chunk.learns.items), chunk.learns
    world.put("docs/sails.html", b"<main><h1>Sails</h1><p>They catch the wind.</p></main>")
    assert [chunk.learns.items for chunk in world.chunks("docs/sails")] == [()]


def test_only_the_items_of_an_author_are_embedded_and_searched(world: World) -> None:
    file = f"{MATERIAL}:\n  tip-sign: [負号を囲む方法, 計算を見直す手順, 間違いを避ける方法]\n"
    world.put("learns.yml", file.encode())
    world.put(KEY, a_page(BOXES))
    rules, *_ = (chunk.learns.items[1] for chunk in world.chunks(MATERIAL))
    assert rules == "「二次方程式の解き方」で「解の公式」を利用する方法"
    embedded = "\n".join(world.embedder.embedded)
    assert ("計算を見直す手順" in embedded, rules in embedded) == (True, False)
    terms = {term for (row,) in world.sql.execute("select terms from chunk_words") for term in row}
    assert ("間違い" in terms, "要点" in terms) == (True, False)


def test_meta_tags_of_the_page_stand_in_each_chunk(world: World) -> None:
    head = "<meta name='category' content='代数'><meta name='level' content='中学'>"
    world.put(KEY, a_page(BOXES, head=head + "<meta name='prerequisites' content='平方根, 因数分解'>"))
    for chunk in world.chunks(MATERIAL):
        fields = chunk
        assert (fields.category, fields.level, fields.prerequisites) == ("代数", "中学", ("平方根", "因数分解"))


def test_an_embedding_service_that_is_down_changes_nothing(world: World) -> None:
    world.put(KEY, a_page(BOXES))
    before = world.rows("material", "knowledge_chunks")
    world.embedder.down = True
    with pytest.raises(Unavailable):
        world.put(KEY, a_page({"rule-new": "新しい: まだ知らない文。"}))
    assert world.rows("material", "knowledge_chunks") == before


def test_a_concurrent_change_is_retried_and_at_every_try_a_conflict(world: World) -> None:
    version = world.put(KEY, a_page(BOXES))
    index = _Interrupted(world, times=2)
    result = replace(world.apply_page, index=index)(PageVersion(MATERIAL, KEY, version))
    assert (result.applied.outcome, index.interrupted) == ("applied", 2)
    with pytest.raises(Conflict):
        replace(world.apply_page, index=_Interrupted(world, times=99))(PageVersion(MATERIAL, KEY, version))
    # Another worker replaced this version.
    world.put(KEY, a_page({"rule-new": "新しい: 文。"}))
    pages = replace(world.apply_page, index=_Interrupted(world, times=1))
    assert pages(PageVersion(MATERIAL, KEY, version)).applied.outcome == "conflict"
    assert [chunk.anchor for chunk in world.chunks(MATERIAL)] == ["rule-new"]


class _Interrupted:
    """An index whose row another worker changes just before vectors are looked up, so many `times`."""

    def __init__(self, world: World, *, times: int) -> None:
        self.interrupted, self.left = 0, times
        self.analyzed: list[set[str]] = []
        self._real, self._sql = world.index, world.sql

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def interrupt(self) -> object:
        change = "update public.material set generation = generation + 1 where material = %s"
        return self._sql.execute(change, [MATERIAL])

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: PageIndexVersion) -> set[str]:
        if self.left:
            self.left -= 1
            self.interrupted += 1
            self.interrupt()
        return self._real.missing_vectors(text_hashes, fingerprint)

    def apply(self, change: PageChange, **options: Any) -> ChangeResult:
        self.analyzed.append({chunk.anchor for chunk in change.chunks or () if chunk.words_row is None})
        return self._real.apply(change, **options)


def test_the_result_counts_chunks_and_embedded_texts(world: World) -> None:
    world.bucket.write(KEY, a_page(BOXES))
    (done,) = world.settle()
    assert done.applied is not None
    assert done.applied.announcement is not None
    silent = replace(done.applied, announcement=None)
    assert silent == ChangeResult("applied", 1, uploaded_at="2026-01-01T00:00:00+00:00")
    assert (done.chunks, done.embedded) == (3, 3)


def test_a_chunk_that_cannot_be_embedded_fails_its_page_alone_with_its_anchor(world: World) -> None:
    world.embedder.poisons = {"毒入り"}
    world.put("b.html", a_page(BOXES | {"ex-1": "例題: 毒入りの文章。"}))
    world.put("a.html", a_page(BOXES))
    state = world.index.state("b")
    assert state is not None
    assert state.status == "failed"
    assert (
        state.error == "#ex-1 cannot be embedded: The embedding service refused the request with 400. Correct its text"
    )
    assert [chunk.anchor for chunk in world.chunks("a")] == list(BOXES)


def test_an_explanation_of_rare_characters_is_embedded_by_its_beginning(world: World) -> None:
    world.embedder.longest = 8_192
    world.put(KEY, a_page({"rule-rare": "漢字の表: " + "𠮷" * 5_000}))
    assert [chunk.anchor for chunk in world.chunks(MATERIAL)] == ["rule-rare"]
