"""How the index is held against its sources: by `maintain` on its schedule, by `api` when a keeper asks."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from sakuin.bootstrap.aws import material_queue, table_queues
from sakuin.bootstrap.indexes import kept_or_own
from sakuin.bootstrap.watching import Watch, chunk_store
from sakuin.domain.index_settings import KeptIndex, named_index
from sakuin.settings import Secrets, Settings

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.services.reconcile import Reconcile


def reconciling(settings: Settings, secrets: Secrets, watch: Watch, client: "Client") -> Callable[[], "Reconcile"]:
    """Gives what reconciles the index that answers, built by the first call: most starts never need it."""
    kept = kept_or_own(client, settings)

    @cache
    def made(live: KeptIndex) -> "Reconcile":
        from sakuin.adapters.aws import client as aws
        from sakuin.adapters.s3 import S3Bucket
        from sakuin.adapters.supabase_reconciliation import SupabaseLibraryRecords, SupabaseTableClaims, SupabaseWalks
        from sakuin.adapters.supabase_tables import SupabaseTableIndex
        from sakuin.domain.table_index import tables_of
        from sakuin.platform.unfinished_work import UnfinishedWorkStore
        from sakuin.services.reconcile import Reconcile
        from sakuin.services.reconcile_materials import ReconcileMaterials
        from sakuin.services.reconcile_tables import ReconcileTables

        index = SupabaseTableIndex(client, tables_of(live.settings))
        queue = material_queue(settings, watch)
        materials = ReconcileMaterials(
            S3Bucket(aws("s3"), settings.bucket),
            SupabaseLibraryRecords(client),
            UnfinishedWorkStore(client),
            queue,
            settings.material_prefix,
            lambda: datetime.now(UTC),
        )
        tables = ReconcileTables(
            SupabaseTableClaims(client, live.tables),
            index,
            chunk_store(settings, secrets, watch),
            table_queues(settings, watch),
            lambda: live.suffix,
        )
        return Reconcile(materials, tables, SupabaseWalks(client), time.monotonic, queue.queue.is_empty)

    return lambda: made(named_index(kept(), None))
