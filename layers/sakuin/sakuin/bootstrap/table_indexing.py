"""The function that walks Tables."""

from collections.abc import Mapping
from dataclasses import replace

from sakuin.bootstrap.aws import aws, table_queues
from sakuin.bootstrap.indexes import kept_or_own, live_last, table_indexes
from sakuin.bootstrap.queue_handling import handler_of
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler
from sakuin.settings import Settings


def table_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that walks Tables."""
    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_projects import SupabaseProjects
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.domain.table_index import tables_of
    from sakuin.entrypoints.sqs_tables import ToolWork
    from sakuin.services.every_index import IndexEverywhere
    from sakuin.services.give_up_table import GiveUpTable
    from sakuin.services.import_body import ImportBody
    from sakuin.services.index_table import IndexTable

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    bodies = S3TableBodies(aws("s3"), settings.tables_bucket)
    store, queues = chunk_store(settings, secrets, observed), table_queues(settings, observed)
    kept = kept_or_own(client, settings)

    def walks() -> dict[str, IndexTable]:
        return {
            each.tables: IndexTable(
                index=SupabaseTableIndex(client, tables_of(each.settings)),
                bodies=bodies,
                store=store,
                queues=replace(queues, fingerprint=each.tables),
                cut=each.settings.cut,
                suffix=each.suffix,
                limits=settings.limits,
            )
            for each in live_last(kept)
        }

    take = ImportBody(SupabaseProjects(client), bodies, settings.limits.table_bytes)
    work = ToolWork(
        IndexEverywhere(walks), take, GiveUpTable(table_indexes(client, kept)), observed.logger, observed.metrics
    )
    url = settings.tool_queue_url
    return handler_of(url, work, settings, secrets, observed)
