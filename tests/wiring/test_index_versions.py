"""The index versions that a function works on."""

from dataclasses import replace

from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, TableCut
from sakuin.wiring.index_versions import live_last, recent

from tests.worlds import SETTINGS, World

OTHER_MODEL = replace(SETTINGS, model=replace(SETTINGS.model, passage_prefix="passage: "))
SMALLER = replace(SETTINGS, cut=TableCut(chunk_size=400))
OLD_TEMPLATE = replace(SETTINGS, text_template="before/1")


def kept(settings: IndexVersion, *, live: bool = False) -> StoredIndexVersion:
    return StoredIndexVersion(settings, live, live, settings.tables.id, "")


def test_what_is_kept_is_asked_again_only_after_some_seconds() -> None:
    now, asked = [0.0], []

    def read() -> int:
        asked.append(now[0])
        return len(asked)

    latest = recent(read, seconds=5, clock=lambda: now[0])
    assert (latest(), latest()) == (1, 1)
    now[0] = 5.1
    assert (latest(), asked) == (2, [0.0, 5.1])


def test_other_versions_of_pages_are_those_of_another_model_with_the_texts_of_this_code(world: World) -> None:
    indexes = [kept(SETTINGS, live=True), kept(SMALLER), kept(OTHER_MODEL), kept(OLD_TEMPLATE)]
    pages = replace(world.apply_page, versions=lambda: indexes)
    assert set(pages.other_versions()) == {OTHER_MODEL.pages.id}
    assert set(replace(pages, versions=lambda: [kept(OTHER_MODEL, live=True)]).other_versions()) == set()
    assert set(replace(pages, versions=lambda: [kept(OLD_TEMPLATE, live=True)]).other_versions()) == set()


def test_a_table_is_scanned_once_for_equal_cuts_and_last_for_the_live_index() -> None:
    live = kept(SETTINGS, live=True)
    indexes = [live, kept(OLD_TEMPLATE), kept(SMALLER)]
    assert [each.settings for each in live_last(lambda: indexes)] == [SMALLER, SETTINGS]
