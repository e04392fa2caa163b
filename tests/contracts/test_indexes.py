"""Indexes that are kept beside each other, and the pages of either."""

from dataclasses import dataclass, replace

import pytest
from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.model import EVERYTHING, KnowledgeChunk, PageChange
from sakuin.knowledge.postgres_search import Question
from sakuin.retrieval.index_version import ANALYZER, CHUNKER, TEXT_TEMPLATE, IndexVersion, TableCut, find_version
from sakuin.upkeep.index_versions import IndexVersions
from supabase import Client

from tests.builders import a_chunk, a_source, text_of
from tests.contracts.conftest import Knowledge
from tests.doubles.embedder import MODEL, vector_of

BLUE = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, TableCut(), CHUNKER)
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="text: "))
THIRD = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "))
SMALLER = replace(BLUE, cut=TableCut(chunk_size=400, overlap=50))
NEW_TEMPLATE = replace(BLUE, text_template="another/1")


@dataclass(frozen=True, slots=True)
class House:
    """The indexes, and the pages that they are built of."""

    indexes: IndexVersions
    knowledge: Knowledge

    def write(
        self, name: str, content: str, version: int, *, by: IndexVersion, embedded: tuple[IndexVersion, ...]
    ) -> None:
        """Applies a page of one chunk, as `IndexPage` does with the settings `by`."""
        chunk = self.chunk(name, content)
        self.knowledge.index.record_index_version(by.pages)
        for each in embedded:
            self.knowledge.embed([chunk], each.pages)
        self.knowledge.index.apply(
            PageChange(name, a_source(name, version), chunks=[chunk], fingerprint=by.pages.id),
            expected_generation=None,
        )

    def again(self, name: str, content: str, *, by: IndexVersion, embedded: tuple[IndexVersion, ...]) -> None:
        """Applies the same version again."""
        chunk = self.chunk(name, content)
        self.knowledge.index.record_index_version(by.pages)
        for each in embedded:
            self.knowledge.embed([chunk], each.pages)
        state = self.knowledge.index.state(name)
        assert state is not None
        done = self.knowledge.index.apply(
            PageChange(name, None, chunks=[chunk], fingerprint=by.pages.id), expected_generation=state.generation
        )
        assert done.outcome == "applied"

    def chunk(self, name: str, content: str) -> KnowledgeChunk:
        return a_chunk(name, "rule-a", content)

    def cosines(self, query: str, asked: IndexVersion) -> dict[str, float | None]:
        """What each page is to a question by meaning, in the index that is asked; None: it has no vector there."""
        question = Question(vector_of(text_of("rule-a", query)), (), asked.pages, EVERYTHING, 10)
        return {match.material: match.cosine for match in self.knowledge.search.matches(question)}

    def missing(self, asked: IndexVersion) -> tuple[str, ...]:
        """The pages that an index lacks."""
        state = next(each for each in self.indexes.states() if each.settings == asked)
        return tuple(name for name, _ in state.pages.named)


@pytest.fixture
def house(service: Client, knowledge: Knowledge) -> House:
    return House(IndexVersions(service), knowledge)


def test_the_first_index_answers_by_itself_and_the_next_one_does_not(house: House) -> None:
    assert house.indexes.kept() == []
    for each in (BLUE, GREEN, GREEN):
        house.indexes.keep(each)
    kept = house.indexes.kept()
    assert [(each.settings, each.live, each.answered) for each in kept] == [(BLUE, True, True), (GREEN, False, False)]
    assert (kept[0].suffix, kept[1].suffix) == ("", kept[1].tables)
    assert find_version(kept, "next").settings == GREEN
    assert find_version(kept, None).settings == BLUE
    assert find_version(kept, GREEN.id[:6]).settings == GREEN
    with pytest.raises(NotFound):
        find_version(kept, "ffff0000")


def test_an_edit_is_found_in_every_index_that_is_kept(house: House) -> None:
    house.indexes.keep(BLUE)
    house.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    house.indexes.keep(GREEN)
    assert house.missing(GREEN) == ("m",)
    house.write("m", "平方完成", 2, by=GREEN, embedded=(BLUE, GREEN))
    for each in (BLUE, GREEN):
        assert house.cosines("平方完成", each) == {"m": pytest.approx(1.0)}
        assert house.missing(each) == ()


def test_the_old_index_answers_as_before_while_the_next_one_is_built(house: House) -> None:
    house.indexes.keep(BLUE)
    for name in ("a", "b"):
        house.write(name, f"{name}の定理", 1, by=BLUE, embedded=(BLUE,))
    before = house.cosines("aの定理", BLUE)
    house.indexes.keep(GREEN)
    house.again("a", "aの定理", by=GREEN, embedded=(BLUE, GREEN))
    assert house.cosines("aの定理", BLUE) == before
    assert house.missing(BLUE) == ()
    assert house.missing(GREEN) == ("b",)
    assert set(house.cosines("aの定理", GREEN)) == {"a"}


def test_only_a_whole_index_comes_to_answer_unless_it_is_forced(house: House) -> None:
    house.indexes.keep(BLUE)
    house.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    house.indexes.keep(GREEN)
    with pytest.raises(Conflict, match="is incomplete"):
        house.indexes.flip(GREEN.id)
    assert find_version(house.indexes.kept(), None).settings == BLUE
    house.again("m", "たすき掛け", by=GREEN, embedded=(BLUE, GREEN))
    state = house.indexes.flip(GREEN.id)
    assert (state.live, state.is_whole, state.retired_at) == (True, True, None)
    assert [(each.live, each.answered) for each in house.indexes.kept()] == [(False, True), (True, True)]
    house.write("n", "平方完成", 1, by=GREEN, embedded=(GREEN,))
    with pytest.raises(Conflict):
        house.indexes.flip(BLUE.id)
    assert house.indexes.flip(BLUE.id, force=True).settings == BLUE
    with pytest.raises(NotFound):
        house.indexes.flip("0" * 16)


def test_the_way_back_is_open_while_edits_go_to_both(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    house.indexes.flip(GREEN.id)
    house.write("m", "平方完成", 1, by=GREEN, embedded=(BLUE, GREEN))
    assert house.indexes.flip(BLUE.id).live
    assert house.cosines("平方完成", BLUE) == {"m": pytest.approx(1.0)}


def test_what_answers_needs_each_vector_and_what_does_not_may_wait_for_its_own(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    with pytest.raises(Invalid):
        house.write("m", "平方完成", 1, by=GREEN, embedded=(GREEN,))
    house.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE,))
    assert (house.missing(BLUE), house.missing(GREEN)) == ((), ("m",))
    assert house.cosines("たすき掛け", GREEN) == {}


def test_a_vector_of_an_older_text_goes_even_where_no_new_one_has_come(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    house.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE, GREEN))
    house.write("m", "平方完成", 2, by=GREEN, embedded=(BLUE,))
    assert house.cosines("たすき掛け", GREEN) == {}
    assert house.missing(GREEN) == ("m",)


def test_an_index_of_a_former_text_template_keeps_its_vectors_until_the_text_changes(house: House) -> None:
    house.indexes.keep(BLUE)
    house.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    house.indexes.keep(NEW_TEMPLATE)
    house.again("m", "たすき掛け", by=NEW_TEMPLATE, embedded=(NEW_TEMPLATE,))
    assert house.cosines("たすき掛け", BLUE) == {"m": pytest.approx(1.0)}
    house.write("m", "平方完成", 2, by=NEW_TEMPLATE, embedded=(NEW_TEMPLATE,))
    assert house.cosines("平方完成", BLUE) == {}
    assert house.cosines("平方完成", NEW_TEMPLATE) == {"m": pytest.approx(1.0)}
    assert house.missing(BLUE) == ("m",)


def test_another_chunk_size_of_tables_needs_nothing_of_pages(house: House) -> None:
    house.indexes.keep(BLUE)
    house.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    house.indexes.keep(SMALLER)
    assert house.missing(SMALLER) == ()
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=10) == []


def test_pages_are_asked_for_once_and_only_for_what_this_code_can_write(house: House) -> None:
    house.indexes.keep(BLUE)
    for name in ("a", "b", "c"):
        house.write(name, f"{name}の定理", 1, by=BLUE, embedded=(BLUE,))
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=10) == []
    house.indexes.keep(GREEN)
    assert house.indexes.pages_to_build("another/1", seconds=900, limit=10) == []
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == ["a", "b"]
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == ["c"]
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == []
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=0, limit=5) == ["a", "b", "c"]


def test_pages_that_were_asked_for_are_asked_for_again_for_an_index_that_came_since(house: House) -> None:
    house.indexes.keep(BLUE)
    house.write("a", "aの定理", 1, by=BLUE, embedded=(BLUE,))
    house.indexes.keep(GREEN)
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=9) == ["a"]
    house.indexes.keep(THIRD)
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=9) == ["a"]
    assert house.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=9) == []


def test_what_answers_or_did_until_just_now_is_not_dropped(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    with pytest.raises(Conflict, match="is live"):
        house.indexes.drop(BLUE.id, seconds=60)
    house.indexes.flip(GREEN.id)
    with pytest.raises(Conflict, match="just now"):
        house.indexes.drop(BLUE.id, seconds=60)
    house.indexes.drop(BLUE.id, seconds=0)
    assert [each.settings for each in house.indexes.kept()] == [GREEN]
    with pytest.raises(NotFound):
        house.indexes.drop(BLUE.id, seconds=0)


def test_a_dropped_index_is_swept_and_the_live_one_is_untouched(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    house.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE, GREEN))
    house.indexes.flip(GREEN.id)
    house.indexes.drop(BLUE.id, seconds=0)
    assert house.indexes.sweep(limit=100) == 2
    assert house.indexes.sweep(limit=100) == 0
    assert house.cosines("たすき掛け", BLUE) == {}
    assert house.cosines("たすき掛け", GREEN) == {"m": pytest.approx(1.0)}


def test_a_deleted_page_is_in_no_index(house: House) -> None:
    house.indexes.keep(BLUE)
    house.indexes.keep(GREEN)
    house.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE, GREEN))
    house.knowledge.index.apply(PageChange("m", a_source("m", 2), deleted=True))
    for each in (BLUE, GREEN):
        assert (house.cosines("たすき掛け", each), house.missing(each)) == ({}, ())
