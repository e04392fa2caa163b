"""Index versions beside each other, and their pages."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from sakuin.errors import Conflict, NotFound
from sakuin.knowledge.model import EVERYTHING, PageChange, Source
from sakuin.knowledge.postgres_search import Question
from sakuin.platform.supabase.client import Client
from sakuin.retrieval.index_version import ANALYZER, CHUNKER, TEXT_TEMPLATE, IndexVersion, TableCut, find_version
from sakuin.upkeep.index_versions import IndexVersions

from tests.builders import a_chunk, a_source, text_of
from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.embedder import MODEL, vector_of

BLUE = IndexVersion(MODEL, TEXT_TEMPLATE, ANALYZER, TableCut(), CHUNKER)
GREEN = replace(BLUE, model=replace(MODEL, passage_prefix="text: "))
THIRD = replace(BLUE, model=replace(MODEL, passage_prefix="passage: "))
SMALLER = replace(BLUE, cut=TableCut(chunk_size=400, overlap=50))
NEW_TEMPLATE = replace(BLUE, text_template="another/1")


@dataclass(frozen=True, slots=True)
class Library:
    """The index versions and their pages."""

    indexes: IndexVersions
    knowledge: Knowledge

    def write(
        self, name: str, content: str, version: int, *, by: IndexVersion, embedded: tuple[IndexVersion, ...]
    ) -> None:
        """Applies a page of one chunk, as `IndexPage` does with the settings `by`."""
        self._apply(name, content, a_source(name, version), by, embedded)

    def again(self, name: str, content: str, *, by: IndexVersion, embedded: tuple[IndexVersion, ...]) -> None:
        seen = self.knowledge.state(name).generation
        assert self._apply(name, content, None, by, embedded, expected_generation=seen) == "applied"

    def _apply(
        self,
        name: str,
        content: str,
        source: Source | None,
        by: IndexVersion,
        embedded: tuple[IndexVersion, ...],
        **seen: Any,
    ) -> str:
        chunk = a_chunk(name, "rule-a", content)
        self.knowledge.record(by.pages)
        for each in embedded:
            self.knowledge.embed([chunk], each.pages)
        change = PageChange(name, source, chunks=[chunk], fingerprint=by.pages.id)
        return self.knowledge.index.apply(change, **seen).outcome

    def cosines(self, query: str, asked: IndexVersion) -> dict[str, float | None]:
        """The cosine of each page and a question in an index; None: the page has no vector there."""
        question = Question(vector_of(text_of("rule-a", query)), (), asked.pages, EVERYTHING, 10)
        return {match.material: match.cosine for match in self.knowledge.search.matches(question)}

    def missing(self, asked: IndexVersion) -> tuple[str, ...]:
        state = next(each for each in self.indexes.states() if each.settings == asked)
        return tuple(each.name for each in state.pages.named)


@pytest.fixture
def library(service: Client, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The versions of this module are in the store of `knowledge`."""
    for name, value in list(globals().items()):
        if isinstance(value, IndexVersion):
            monkeypatch.setitem(globals(), name, replace(value, store=knowledge.version.store))
    return Library(IndexVersions(service), knowledge)


def test_the_first_index_is_active_and_the_next_one_is_not(library: Library) -> None:
    assert library.indexes.all() == []
    for each in (BLUE, GREEN, GREEN):
        library.indexes.add(each)
    kept = library.indexes.all()
    assert [(each.settings, each.live, each.answered) for each in kept] == [(BLUE, True, True), (GREEN, False, False)]
    assert (kept[0].suffix, kept[1].suffix) == ("", kept[1].tables)
    assert find_version(kept, "next").settings == GREEN
    assert find_version(kept, None).settings == BLUE
    assert find_version(kept, GREEN.id[:6]).settings == GREEN
    with pytest.raises(NotFound):
        find_version(kept, "ffff0000")


def test_an_edit_is_found_in_every_index_that_is_kept(library: Library) -> None:
    library.indexes.add(BLUE)
    library.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    library.indexes.add(GREEN)
    assert library.missing(GREEN) == ("m",)
    library.write("m", "平方完成", 2, by=GREEN, embedded=(BLUE, GREEN))
    for each in (BLUE, GREEN):
        assert library.cosines("平方完成", each) == {"m": pytest.approx(1.0)}
        assert library.missing(each) == ()


def test_only_a_complete_index_is_activated_unless_forced(library: Library) -> None:
    library.indexes.add(BLUE)
    library.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    library.indexes.add(GREEN)
    with pytest.raises(Conflict, match="is incomplete"):
        library.indexes.activate(GREEN.id)
    assert find_version(library.indexes.all(), None).settings == BLUE
    library.again("m", "たすき掛け", by=GREEN, embedded=(BLUE, GREEN))
    state = library.indexes.activate(GREEN.id)
    assert (state.live, state.is_whole, state.retired_at) == (True, True, None)
    assert [(each.live, each.answered) for each in library.indexes.all()] == [(False, True), (True, True)]
    library.write("n", "平方完成", 1, by=GREEN, embedded=(GREEN,))
    with pytest.raises(Conflict):
        library.indexes.activate(BLUE.id)
    assert library.indexes.activate(BLUE.id, force=True).settings == BLUE
    with pytest.raises(NotFound):
        library.indexes.activate("0" * 16)


def test_the_active_index_needs_each_vector_and_another_may_wait(library: Library) -> None:
    library.indexes.add(BLUE)
    library.indexes.add(GREEN)
    with pytest.raises(Conflict):
        library.write("m", "平方完成", 1, by=GREEN, embedded=(GREEN,))
    library.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE,))
    assert (library.missing(BLUE), library.missing(GREEN)) == ((), ("m",))
    assert library.cosines("たすき掛け", GREEN) == {}


def test_the_vectors_of_an_older_text_and_of_a_deleted_page_are_in_no_index(library: Library) -> None:
    library.indexes.add(BLUE)
    library.indexes.add(GREEN)
    library.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE, GREEN))
    library.write("m", "平方完成", 2, by=GREEN, embedded=(BLUE,))
    assert (library.cosines("たすき掛け", GREEN), library.missing(GREEN)) == ({}, ("m",))
    library.knowledge.delete(a_source("m", 3))
    for each in (BLUE, GREEN):
        assert (library.cosines("平方完成", each), library.missing(each)) == ({}, ())


def test_an_index_of_a_former_text_template_keeps_its_vectors_until_the_text_changes(library: Library) -> None:
    library.indexes.add(BLUE)
    library.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    library.indexes.add(NEW_TEMPLATE)
    library.again("m", "たすき掛け", by=NEW_TEMPLATE, embedded=(NEW_TEMPLATE,))
    assert library.cosines("たすき掛け", BLUE) == {"m": pytest.approx(1.0)}
    library.write("m", "平方完成", 2, by=NEW_TEMPLATE, embedded=(NEW_TEMPLATE,))
    assert library.cosines("平方完成", BLUE) == {}
    assert library.cosines("平方完成", NEW_TEMPLATE) == {"m": pytest.approx(1.0)}
    assert library.missing(BLUE) == ("m",)


def test_another_chunk_size_of_tables_needs_nothing_of_pages(library: Library) -> None:
    library.indexes.add(BLUE)
    library.write("m", "たすき掛け", 1, by=BLUE, embedded=(BLUE,))
    library.indexes.add(SMALLER)
    assert library.missing(SMALLER) == ()
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=10) == []


def test_pages_are_requested_once_and_only_for_the_current_text_template(library: Library) -> None:
    library.indexes.add(BLUE)
    for name in ("a", "b", "c"):
        library.write(name, f"{name}の定理", 1, by=BLUE, embedded=(BLUE,))
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=10) == []
    library.indexes.add(GREEN)
    assert library.indexes.pages_to_build("another/1", seconds=900, limit=10) == []
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == ["a", "b"]
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == ["c"]
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=2) == []
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=0, limit=5) == ["a", "b", "c"]
    # For a newer index they are requested again.
    library.indexes.add(THIRD)
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=5) == ["a", "b", "c"]
    assert library.indexes.pages_to_build(TEXT_TEMPLATE, seconds=900, limit=5) == []


def test_an_index_that_is_or_was_just_active_is_not_dropped(library: Library) -> None:
    library.indexes.add(BLUE)
    library.indexes.add(GREEN)
    with pytest.raises(Conflict, match="is live"):
        library.indexes.delete(BLUE.id, seconds=60)
    library.indexes.activate(GREEN.id)
    with pytest.raises(Conflict, match="just now"):
        library.indexes.delete(BLUE.id, seconds=60)
    library.indexes.delete(BLUE.id, seconds=0)
    assert [each.settings for each in library.indexes.all()] == [GREEN]
    with pytest.raises(NotFound):
        library.indexes.delete(BLUE.id, seconds=0)


def test_a_dropped_index_is_swept_and_the_live_one_is_untouched(library: Library) -> None:
    library.indexes.add(BLUE)
    library.indexes.add(GREEN)
    library.write("m", "たすき掛け", 1, by=GREEN, embedded=(BLUE, GREEN))
    library.indexes.activate(GREEN.id)
    library.indexes.delete(BLUE.id, seconds=0)
    # The material is not complete in that space and its row is forgotten, then its text goes, and then the vector.
    first = 1 if BLUE.store == "postgres" else 2
    assert [library.indexes.sweep_vectors(limit=100) for _ in range(4)] == [first, 1, 1, 0]
    assert library.cosines("たすき掛け", BLUE) == {}
    assert library.cosines("たすき掛け", GREEN) == {"m": pytest.approx(1.0)}
