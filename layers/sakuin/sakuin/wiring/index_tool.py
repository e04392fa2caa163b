"""The function `index_tool`: imports documents and scans Tables."""

from dataclasses import replace
from typing import TYPE_CHECKING

from sakuin.platform.aws import Handler
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import kept_or_own, live_last, table_indexes

if TYPE_CHECKING:
    from sakuin.tables.work import ToolWork


def handler(clients: Clients) -> Handler:
    """Returns the handler of the function."""
    return queue_handler(clients.settings.tool_queue_url, tool_work(clients), clients)


def tool_work(clients: Clients) -> "ToolWork":
    """Returns what processes its messages."""
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.tables.index_table import IndexTable
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure
    from sakuin.tables.work import ImportDocument, IndexInEachVersion, ToolWork

    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    bodies, store, queues = clients.table_documents(), clients.chunk_store(), clients.table_queues()
    kept = kept_or_own(clients)

    def scans() -> dict[str, IndexTable]:
        return {
            each.tables: IndexTable(
                index=TableIndex(client, each.settings.tables),
                bodies=bodies,
                store=store,
                queues=replace(queues, fingerprint=each.tables),
                cut=each.settings.cut,
                suffix=each.suffix,
                limits=settings.limits,
            )
            for each in live_last(kept)
        }

    import_document = ImportDocument(ProjectRecords(client), bodies, settings.limits.table_bytes)
    return ToolWork(
        IndexInEachVersion(scans),
        import_document,
        RecordTableFailure(table_indexes(client, kept)),
        telemetry.logger,
        telemetry.metrics,
    )
