"""The function `index_tool`: imports documents and scans Tables."""

from collections.abc import Mapping
from dataclasses import replace

from sakuin.platform.aws import client as aws
from sakuin.platform.redaction import Handler
from sakuin.settings import Settings
from sakuin.wiring.clients import chunk_store, secret_of, start_telemetry, supabase, table_queues
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

    settings, telemetry = Settings.read(environ), start_telemetry("Index")
    secrets = secret_of(settings, telemetry).now()
    client = supabase(settings, secrets, telemetry)
    bodies = S3TableDocuments(aws("s3"), settings.tables_bucket)
    store, queues = chunk_store(settings, secrets, telemetry), table_queues(settings, telemetry)
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
    return queue_handler(settings.tool_queue_url, work, settings, secrets, telemetry)
