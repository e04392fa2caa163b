"""The index versions of a function: its own settings, those that Postgres records, and how all are reconciled."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.retrieval.index_version import ANALYZER, CHUNKER, TEXT_TEMPLATE, IndexVersion, StoredIndexVersion
from sakuin.settings import Settings
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring.clients import Clients

if TYPE_CHECKING:
    from sakuin.knowledge.turbopuffer import StoredPages
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


def kept_versions(clients: Clients) -> Kept:
    """Returns the index versions of the deployment; the first function that writes adds the first one."""
    indexes, own = IndexVersions(clients.supabase), own_index(clients.settings)

    def kept() -> Sequence[StoredIndexVersion]:
        if not (versions := indexes.all()):
            indexes.add(own)
            versions = indexes.all()
        return versions

    return recent(kept, clock=clients.clock)


def searched_versions(clients: Clients) -> Kept:
    """Returns the index versions of the deployment; before the first is added, that of the settings, which is empty."""
    indexes, own = IndexVersions(clients.supabase), own_index(clients.settings)
    first = [StoredIndexVersion(own, live=True, answered=True, tables=own.tables.id, suffix="")]
    return recent(lambda: indexes.all() or first, clock=clients.clock)


def stored_pages(clients: Clients, *, for_upkeep: bool = False) -> "Callable[[], StoredPages]":
    """Returns what gives the rows of pages in turbopuffer, whose SDK is loaded then."""

    @cache
    def pages() -> "StoredPages":
        from sakuin.knowledge.turbopuffer import StoredPages

        return StoredPages(clients.supabase, clients.chunk_store(for_upkeep=for_upkeep), clients.settings.bucket)

    return pages


def stored_pages_if_any(clients: Clients, kept: Kept) -> "Callable[[], StoredPages | None]":
    """Returns what gives upkeep the rows of pages in turbopuffer; None while no index version has any."""
    pages, settings = stored_pages(clients, for_upkeep=True), own_index(clients.settings)
    return lambda: pages() if any(v.store == "turbopuffer" for v in (settings, *(v.settings for v in kept()))) else None


def own_index(settings: Settings) -> IndexVersion:
    """Returns the index version that the settings and this code make."""
    vocabulary = vocabulary_id(settings.vocabulary)
    parts = (settings.embedding_model, TEXT_TEMPLATE, ANALYZER, settings.table_cut, CHUNKER, vocabulary)
    return IndexVersion(*parts, settings.knowledge_store)


def reconciling(clients: Clients, kept: Kept) -> Callable[[], "Reconcile"]:
    """Returns the reconciliation of all index versions.

    It is built at the first call because few workers need it.
    """
    settings, client = clients.settings, clients.supabase

    @cache
    def build(versions: tuple[StoredIndexVersion, ...]) -> "Reconcile":
        from sakuin.knowledge.postgres import MaterialRecords
        from sakuin.knowledge.reconcile import ReconcileMaterials
        from sakuin.tables.postgres import TableIndex
        from sakuin.tables.reconcile import KeptIndex, ReconcileTables
        from sakuin.upkeep.reconcile import Reconcile

        queue, queues = clients.material_queue(), clients.table_queues()
        materials = ReconcileMaterials(
            clients.material_bucket(),
            MaterialRecords(client),
            queue,
            settings.material_prefix,
            clients.now,
            stored_pages_if_any(clients, kept),
        )
        indexes = [
            KeptIndex(TableIndex(client, each.settings.tables), replace(queues, index_version=each.tables), each.suffix)
            for each in versions
        ]
        tables = ReconcileTables(clients.chunk_store(for_upkeep=True), indexes)
        return Reconcile(materials, tables, clients.clock, queue.queue.is_empty)

    return lambda: build(tuple({each.tables: each for each in kept()}.values()))
