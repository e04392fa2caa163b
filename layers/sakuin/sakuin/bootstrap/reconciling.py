"""How the index is held against its sources: by `maintain` on its schedule, by `api` when a keeper asks."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from sakuin.bootstrap.indexes import kept_or_own
from sakuin.bootstrap.watching import Watch, chunk_store, queues
from sakuin.domain.index_settings import KeptIndex, named_index
from sakuin.settings import Secrets, Settings

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.domain.table_index import TableFingerprint
    from sakuin.ports.chunk_store import ChunkStore
    from sakuin.services.compare_store import CountTable
    from sakuin.services.reconcile import Reconcile


def reconciling(settings: Settings, secrets: Secrets, watch: Watch, client: "Client") -> Callable[[], "Reconcile"]:
    """Gives what reconciles the index that answers, built by the first call: most starts never need it."""
    kept = kept_or_own(client, settings)

    @cache
    def made(live: KeptIndex) -> "Reconcile":
        from sakuin.adapters.aws import client as aws
        from sakuin.adapters.s3 import S3Bucket
        from sakuin.adapters.sqs import SqsWorkQueue
        from sakuin.adapters.sqs_tables import SqsTableQueues
        from sakuin.adapters.sqs_work import SqsWorkQueues
        from sakuin.adapters.supabase_reconciliation import SupabaseLibraryRecords, SupabaseTableClaims, SupabaseWalks
        from sakuin.adapters.supabase_tables import SupabaseTableIndex
        from sakuin.domain.table_index import tables_of
        from sakuin.services.reconcile import Reconcile
        from sakuin.services.reconcile_materials import ReconcileMaterials
        from sakuin.services.reconcile_tables import ReconcileTables

        index = SupabaseTableIndex(client, tables_of(live.settings))
        messages = queues(watch)
        materials = ReconcileMaterials(
            S3Bucket(aws("s3"), settings.bucket),
            SupabaseLibraryRecords(client),
            SqsWorkQueue(messages, settings.queue_url),
            settings.material_prefix,
            lambda: datetime.now(UTC),
        )
        tables = ReconcileTables(
            SupabaseTableClaims(client, live.tables),
            index,
            chunk_store(settings, secrets, watch),
            SqsTableQueues(messages, settings.tool_queue_url, settings.embed_queue_url),
            lambda: live.suffix,
        )
        pages = SqsWorkQueues(aws("sqs"), {"material": settings.queue_url}, {})
        line_is_empty = partial(pages.lines_are_empty, "material")
        return Reconcile(materials, tables, SupabaseWalks(client), time.monotonic, line_is_empty)

    return lambda: made(named_index(kept(), None))


def counting(client: "Client", fingerprint: "TableFingerprint", store: "ChunkStore", suffix: str) -> "CountTable":
    """Counts a Table's rows once it is ready."""
    from sakuin.adapters.supabase_reconciliation import SupabaseTableClaims
    from sakuin.services.compare_store import CountTable

    return CountTable(store, SupabaseTableClaims(client, fingerprint.id), suffix)
