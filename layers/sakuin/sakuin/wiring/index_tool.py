"""The function `index_tool`: imports documents and scans Tables."""

from collections.abc import Mapping
from dataclasses import replace

from sakuin.platform.aws import Handler
from sakuin.platform.aws import client as aws
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import kept_or_own, live_last, table_indexes


def table_indexer(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    from sakuin.tables.admin.documents import S3TableDocuments
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.tables.index_table import IndexTable
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure
    from sakuin.tables.work import ImportDocument, IndexInEachVersion, ToolWork

    clients = Clients.of(environ, "Index")
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    bodies = S3TableDocuments(aws("s3"), settings.tables_bucket)
    store, queues = clients.chunk_store(), clients.table_queues()
    kept = kept_or_own(client, settings)

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
    work = ToolWork(
        IndexInEachVersion(scans),
        import_document,
        RecordTableFailure(table_indexes(client, kept)),
        telemetry.logger,
        telemetry.metrics,
    )
    return queue_handler(settings.tool_queue_url, work, clients)
