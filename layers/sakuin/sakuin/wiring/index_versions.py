"""The index versions that a function writes to and reads from."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.secrets import Secrets
from sakuin.retrieval.index_version import (
    ANALYZER,
    TEXT_TEMPLATE,
    IndexVersion,
    PageIndexVersion,
    StoredIndexVersion,
    live_version,
)
from sakuin.settings import Settings
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring.clients import Telemetry, indexing_embedder

if TYPE_CHECKING:
    from sakuin.knowledge.index_page import PageTarget
    from sakuin.platform.embedding import Embedder
    from sakuin.platform.supabase.client import Client
    from sakuin.retrieval.index_version import TableIndexVersion
    from sakuin.tables.postgres import TableIndex


def page_fingerprint(settings: Settings) -> PageIndexVersion:
    """What the settings, and this code, embed pages as."""
    return PageIndexVersion(settings.embedding_model, TEXT_TEMPLATE, ANALYZER)


def table_fingerprint(settings: Settings) -> "TableIndexVersion":
    """What the settings embed Tables as."""
    from sakuin.retrieval.index_version import TableIndexVersion

    return TableIndexVersion(settings.embedding_model, settings.table_cut)


def embedder_of_each_model(
    settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client"
) -> "Callable[[EmbeddingModel], Embedder]":
    """The embedder of each model that an index is kept of."""

    @cache
    def embeds(model: EmbeddingModel) -> "Embedder":
        return indexing_embedder(replace(settings, embedding_model=model), secrets, telemetry, client)

    return embeds


T = TypeVar("T")

Kept = Callable[[], Sequence[StoredIndexVersion]]


# So long after a flip a worker may still ask, or write to, what it knew.
_SECONDS = 5.0


def recent(
    read: Callable[[], T], *, seconds: float = _SECONDS, clock: Callable[[], float] = time.monotonic
) -> Callable[[], T]:
    """The same, asked again only when what it said is older than `seconds`."""
    said: list[tuple[float, T]] = []

    def latest() -> T:
        now = clock()
        if not said or now - said[0][0] > seconds:
            said[:] = [(now, read())]
        return said[0][1]

    return latest


def recorded(client: "Client") -> Kept:
    """What the deployment keeps; none before the first is recorded."""
    return recent(IndexVersions(client).kept)


def kept_or_own(client: "Client", settings: Settings) -> Kept:
    """What the deployment keeps; before the first is recorded, what this function's settings make."""
    own = own_index(settings)

    def kept() -> Sequence[StoredIndexVersion]:
        from sakuin.tables.postgres import TableIndex

        found = IndexVersions(client).kept()
        if found:
            return found
        tables = own.tables
        suffix = TableIndex(client, tables).namespace_suffix()
        return [StoredIndexVersion(own, live=True, answered=True, tables=tables.id, suffix=suffix)]

    return recent(kept)


def own_index(settings: Settings) -> IndexVersion:
    """What a deployment's settings, and this code, make an index of."""
    from sakuin.retrieval.index_version import CHUNKER

    return IndexVersion(settings.embedding_model, TEXT_TEMPLATE, ANALYZER, settings.table_cut, CHUNKER)


def is_deployed(settings: Settings) -> Callable[[IndexVersion], bool]:
    """Whether an index is what the settings make. Without its chunker, which needs a layer that not all have."""
    own = (settings.embedding_model, TEXT_TEMPLATE, ANALYZER, settings.table_cut)
    return lambda index: (index.model, index.text_template, index.analyzer, index.cut) == own


def pages_of(kept: Kept, embedder_of: "Callable[[EmbeddingModel], Embedder]") -> "Callable[[], Sequence[PageTarget]]":
    """What pages are embedded for: a model once, and only what this code's recipe makes."""
    from sakuin.knowledge.index_page import PageTarget

    embedders = cache(embedder_of)

    def pages() -> "Sequence[PageTarget]":
        spaces: dict[str, PageTarget] = {}
        for each in sorted(kept(), key=lambda one: one.live):
            fingerprint = each.settings.pages
            if fingerprint.text_template == TEXT_TEMPLATE:
                spaces[fingerprint.space] = PageTarget(fingerprint, embedders(fingerprint.model), each.live)
        return list(spaces.values())

    return pages


def live_last(kept: Kept) -> list[StoredIndexVersion]:
    """One index for each way to build Tables; what answers stands at the end."""
    found = kept()
    live = live_version(found)
    others = {each.tables: each for each in found if live is None or each.tables != live.tables}
    return [*others.values(), *([live] if live else [])]


def table_indexes(client: "Client", kept: Kept) -> "Callable[[], Mapping[str, TableIndex]]":
    """Gives the index over Tables of each kept index, by fingerprint, that of the live one last."""

    def indexes() -> "Mapping[str, TableIndex]":
        from sakuin.tables.postgres import TableIndex

        return {each.tables: TableIndex(client, each.settings.tables) for each in live_last(kept)}

    return indexes
