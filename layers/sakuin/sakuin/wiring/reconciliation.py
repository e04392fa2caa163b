"""Reconciliation, which `maintain` runs on its schedule and `api` on command."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from sakuin.platform.aws import client as aws
from sakuin.platform.secrets import Secrets
from sakuin.retrieval.index_version import StoredIndexVersion, find_version
from sakuin.settings import Settings
from sakuin.wiring.clients import Telemetry, chunk_store, material_queue, table_queues
from sakuin.wiring.index_versions import kept_or_own

if TYPE_CHECKING:
    from sakuin.platform.supabase.client import Client
    from sakuin.upkeep.reconcile import Reconcile


def reconciling(
    settings: Settings, secrets: Secrets, telemetry: Telemetry, client: "Client"
) -> Callable[[], "Reconcile"]:
    """Returns the reconciliation of the active index version, built at the first call because few workers need it."""
    kept = kept_or_own(client, settings)

    @cache
    def build(live: StoredIndexVersion) -> "Reconcile":
        from sakuin.knowledge.postgres_records import MaterialRecords
        from sakuin.knowledge.reconcile import ReconcileMaterials
        from sakuin.platform.s3 import S3Bucket
        from sakuin.platform.unfinished_work import UnfinishedWorkStore
        from sakuin.tables.postgres import TableIndex
        from sakuin.tables.reconcile import ReconcileTables, TableSummaries
        from sakuin.upkeep.reconcile import Reconcile, ReconciliationRuns

        index = TableIndex(client, live.settings.tables)
        queue = material_queue(settings, telemetry)
        materials = ReconcileMaterials(
            S3Bucket(aws("s3"), settings.bucket),
            MaterialRecords(client),
            UnfinishedWorkStore(client),
            queue,
            settings.material_prefix,
            lambda: datetime.now(UTC),
        )
        tables = ReconcileTables(
            TableSummaries(client, live.tables),
            index,
            chunk_store(settings, secrets, telemetry),
            table_queues(settings, telemetry),
            lambda: live.suffix,
        )
        return Reconcile(materials, tables, ReconciliationRuns(client), time.monotonic, queue.queue.is_empty)

    return lambda: build(find_version(kept(), None))
