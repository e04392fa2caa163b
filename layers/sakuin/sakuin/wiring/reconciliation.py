"""Reconciliation, which `maintain` runs on its schedule and `api` on command."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from sakuin.retrieval.index_version import StoredIndexVersion, find_version
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import kept_or_own

if TYPE_CHECKING:
    from sakuin.upkeep.reconcile import Reconcile


def reconciling(clients: Clients) -> Callable[[], "Reconcile"]:
    """Returns the reconciliation of all index versions, built at the first call because few workers need it."""
    settings, client = clients.settings, clients.supabase
    kept = kept_or_own(client, settings)

    @cache
    def build(versions: tuple[StoredIndexVersion, ...]) -> "Reconcile":
        from sakuin.knowledge.postgres_records import MaterialRecords
        from sakuin.knowledge.reconcile import ReconcileMaterials
        from sakuin.platform.unfinished_work import UnfinishedWorkStore
        from sakuin.tables.postgres import TableIndex
        from sakuin.tables.reconcile import ReconcileTables, ReconcileVersions, TableSummaries
        from sakuin.upkeep.reconcile import Reconcile, ReconciliationRuns

        queue = clients.material_queue()
        materials = ReconcileMaterials(
            clients.material_bucket(),
            MaterialRecords(client),
            UnfinishedWorkStore(client),
            queue,
            settings.material_prefix,
            lambda: datetime.now(UTC),
        )
        store, queues = clients.chunk_store(), clients.table_queues()
        tables = [
            ReconcileTables(
                TableSummaries(client, each.tables),
                TableIndex(client, each.settings.tables),
                store,
                queues,
                partial(str, each.suffix),
                each.live,
            )
            for each in versions
        ]
        every = ReconcileVersions(tables)
        return Reconcile(materials, every, ReconciliationRuns(client), time.monotonic, queue.queue.is_empty)

    def reconcile() -> "Reconcile":
        found = kept()
        live = find_version(found, None)
        # Two versions may have the same index over Tables.
        beside = {each.tables: each for each in found if each.tables != live.tables}
        return build((live, *beside.values()))

    return reconcile
