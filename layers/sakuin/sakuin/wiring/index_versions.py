"""The index versions of a function: its own settings, those that Postgres records, and how all are reconciled."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.retrieval.index_version import (
    ANALYZER,
    CHUNKER,
    TEXT_TEMPLATE,
    IndexVersion,
    StoredIndexVersion,
    live_version,
)
from sakuin.settings import Settings
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring.clients import Clients

if TYPE_CHECKING:
    from sakuin.knowledge.turbopuffer import StoredPages
    from sakuin.platform.supabase.client import Client
    from sakuin.tables.postgres import TableIndex
    from sakuin.upkeep.reconcile import Reconcile


T = TypeVar("T")
Kept = Callable[[], Sequence[StoredIndexVersion]]

# After an activation a worker may use the previous index version for so long.
_SECONDS = 5.0


def recent(
    read: Callable[[], T], *, seconds: float = _SECONDS, clock: Callable[[], float] = time.monotonic
) -> Callable[[], T]:
    """Returns `read` with a cached result, which is at most `seconds` old."""
    cached: list[tuple[float, T]] = []

    def latest() -> T:
        now = clock()
        if not cached or now - cached[0][0] > seconds:
            cached[:] = [(now, read())]
        return cached[0][1]

    return latest


def recorded_versions(clients: Clients) -> Kept:
    """Returns the index versions of the deployment; none before the first is added."""
    return recent(IndexVersions(clients.supabase).all, clock=clients.clock)


def kept_or_own(clients: Clients, *, writes: bool = True) -> Kept:
    """Returns the index versions of the deployment; before the first is added, the function's own.

    A function that `writes` Tables records the suffix of its namespaces, which is empty for the first version.
    """
    client, own = clients.supabase, own_index(clients.settings)

    def kept() -> Sequence[StoredIndexVersion]:
        from sakuin.tables.postgres import TableIndex

        versions = IndexVersions(client).all()
        if versions:
            return versions
        tables = own.tables
        suffix = TableIndex(client, tables).namespace_suffix() if writes else ""
        return [StoredIndexVersion(own, live=True, answered=True, tables=tables.id, suffix=suffix)]

    return recent(kept, clock=clients.clock)


def stored_pages(clients: Clients, kept: Kept, *, for_upkeep: bool = False) -> "Callable[[], StoredPages | None]":
    """Returns what gives the rows of pages in turbopuffer; None while no index version has any."""

    @cache
    def pages() -> "StoredPages":
        from sakuin.knowledge.turbopuffer import StoredPages

        return StoredPages(clients.supabase, clients.chunk_store(for_upkeep=for_upkeep), clients.settings.bucket)

    own = own_index(clients.settings)
    return lambda: pages() if any(one.store == "turbopuffer" for one in (own, *(v.settings for v in kept()))) else None


def own_index(settings: Settings) -> IndexVersion:
    """Returns the index version that the settings and this code make."""
    vocabulary = vocabulary_id(settings.vocabulary)
    parts = (settings.embedding_model, TEXT_TEMPLATE, ANALYZER, settings.table_cut, CHUNKER, vocabulary)
    return IndexVersion(*parts, settings.knowledge_store)


def live_last(kept: Kept) -> list[StoredIndexVersion]:
    """Returns one index version for each index over Tables, the active one last."""
    versions = kept()
    live = live_version(versions)
    others = {each.tables: each for each in versions if live is None or each.tables != live.tables}
    return [*others.values(), *([live] if live else [])]


def table_indexes(client: "Client", kept: Kept) -> "Callable[[], Mapping[str, TableIndex]]":
    """Returns the index over Tables of each index version, by fingerprint, the active one last."""

    def indexes() -> "Mapping[str, TableIndex]":
        from sakuin.tables.postgres import TableIndex

        return {each.tables: TableIndex(client, each.settings.tables) for each in live_last(kept)}

    return indexes


def reconciling(clients: Clients, kept: Kept) -> Callable[[], "Reconcile"]:
    """Returns the reconciliation of all index versions, the live one first.

    It is built at the first call because few workers need it.
    """
    settings, client = clients.settings, clients.supabase

    @cache
    def build(versions: tuple[StoredIndexVersion, ...]) -> "Reconcile":
        from sakuin.knowledge.postgres import MaterialRecords
        from sakuin.knowledge.reconcile import ReconcileMaterials
        from sakuin.platform.unfinished_work import UnfinishedWorkStore
        from sakuin.tables.reconcile import ReconcileVersions
        from sakuin.upkeep.reconcile import Reconcile, ReconciliationRuns

        queue = clients.material_queue()
        materials = ReconcileMaterials(
            clients.material_bucket(),
            MaterialRecords(client),
            UnfinishedWorkStore(client),
            queue,
            settings.material_prefix,
            clients.now,
            stored_pages(clients, kept, for_upkeep=True),
        )
        tables = ReconcileVersions.of(client, clients.chunk_store(for_upkeep=True), clients.table_queues(), versions)
        return Reconcile(materials, tables, ReconciliationRuns(client), clients.clock, queue.queue.is_empty)

    return lambda: build(tuple(reversed(live_last(kept))))
