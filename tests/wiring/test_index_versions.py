"""The index versions that a function works on."""

from dataclasses import replace

from sakuin.platform.embedding import EmbeddingModel
from sakuin.retrieval.index_version import IndexVersion, StoredIndexVersion, TableCut
from sakuin.wiring.index_versions import live_last, pages_of, recent

from tests.doubles.embedder import MemoryEmbedder
from tests.worlds import SETTINGS

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


def test_pages_are_embedded_once_a_model_and_only_as_this_code_writes_them() -> None:
    made: list[EmbeddingModel] = []

    def embedder(model: EmbeddingModel) -> MemoryEmbedder:
        made.append(model)
        return MemoryEmbedder(model)

    indexes = [kept(SETTINGS, live=True), kept(SMALLER), kept(OTHER_MODEL), kept(OLD_TEMPLATE)]
    pages = pages_of(lambda: indexes, embedder)
    for _ in range(2):
        assert {(each.version.model, each.live) for each in pages()} == {
            (SETTINGS.model, True),
            (OTHER_MODEL.model, False),
        }
    assert len(made) == 2


def test_a_table_is_scanned_once_for_equal_cuts_and_last_for_the_live_index() -> None:
    live = kept(SETTINGS, live=True)
    indexes = [live, kept(OLD_TEMPLATE), kept(SMALLER)]
    assert [each.settings for each in live_last(lambda: indexes)] == [SMALLER, SETTINGS]
