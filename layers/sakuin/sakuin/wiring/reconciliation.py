"""Reconciliation, which `maintain` runs on its schedule and `api` on command."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.wiring.clients import Clients
from sakuin.wiring.index_versions import Kept, live_last

if TYPE_CHECKING:
    from sakuin.upkeep.reconcile import Reconcile


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
        )
        tables = ReconcileVersions.of(client, clients.chunk_store(for_upkeep=True), clients.table_queues(), versions)
        return Reconcile(materials, tables, ReconciliationRuns(client), clients.clock, queue.queue.is_empty)

    return lambda: build(tuple(reversed(live_last(kept))))
