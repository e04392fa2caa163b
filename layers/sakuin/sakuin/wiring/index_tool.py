"""The function `index_tool`: imports documents and scans Tables."""

from collections.abc import Callable
from dataclasses import replace

from sakuin.platform.aws import Handler
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.index_table import IndexTable
from sakuin.tables.postgres import TableIndex
from sakuin.tables.work import ImportDocument, ToolWork
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import Kept, kept_versions


def handler(clients: Clients) -> Handler:
    return queue_handler("tool", tool_work(clients, kept_versions(clients)), clients)


def tool_work(clients: Clients, kept: Kept) -> ToolWork:
    """Returns what processes its messages."""
    client, table_bytes = clients.supabase, clients.settings.limits.table_bytes
    return ToolWork(
        kept,
        scans(clients),
        ImportDocument(ProjectRecords(client), clients.tables_bucket(), table_bytes),
        clients.telemetry.logger,
        clients.telemetry.metrics,
    )


def scans(clients: Clients) -> Callable[[StoredIndexVersion], IndexTable]:
    """Returns what gives the scan of an index version."""
    client, limits = clients.supabase, clients.settings.limits
    bucket, store, queues = clients.tables_bucket(), clients.chunk_store(), clients.table_queues()

    def scan_of(version: StoredIndexVersion) -> IndexTable:
        return IndexTable(
            index=TableIndex(client, version.settings.tables),
            bucket=bucket,
            store=store,
            queues=replace(queues, index_version=version.tables),
            cut=version.settings.cut,
            suffix=version.suffix,
            limits=limits,
        )

    return scan_of
