"""The function that walks Tables."""

from collections.abc import Mapping
from dataclasses import replace

from sakuin.platform.redaction import Handler
from sakuin.settings import Settings
from sakuin.wiring.clients import aws, chunk_store, secret_of, supabase, table_queues, watch
from sakuin.wiring.handlers import handler_of
from sakuin.wiring.index_versions import kept_or_own, live_last, table_indexes


def table_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that walks Tables."""
    from sakuin.retrieval.index_version import tables_of
    from sakuin.tables.admin.documents import S3TableBodies
    from sakuin.tables.admin.postgres import ProjectRecords
    from sakuin.tables.index_table import IndexTable
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.work import GiveUpTable, ImportBody, IndexEverywhere, ToolWork

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    bodies = S3TableBodies(aws("s3"), settings.tables_bucket)
    store, queues = chunk_store(settings, secrets, observed), table_queues(settings, observed)
    kept = kept_or_own(client, settings)

    def walks() -> dict[str, IndexTable]:
        return {
            each.tables: IndexTable(
                index=TableIndex(client, tables_of(each.settings)),
                bodies=bodies,
                store=store,
                queues=replace(queues, fingerprint=each.tables),
                cut=each.settings.cut,
                suffix=each.suffix,
                limits=settings.limits,
            )
            for each in live_last(kept)
        }

    take = ImportBody(ProjectRecords(client), bodies, settings.limits.table_bytes)
    work = ToolWork(
        IndexEverywhere(walks), take, GiveUpTable(table_indexes(client, kept)), observed.logger, observed.metrics
    )
    url = settings.tool_queue_url
    return handler_of(url, work, settings, secrets, observed)
