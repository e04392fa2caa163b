"""The function that walks Tables."""

from collections.abc import Mapping
from dataclasses import replace

from sakuin.bootstrap.aws import aws, postponing, sending_again, table_queues, work_queue
from sakuin.bootstrap.giving_up import giving_up_tables
from sakuin.bootstrap.indexes import kept_or_own, live_last
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler, sealed
from sakuin.settings import Settings


def table_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that walks Tables."""
    from sakuin.adapters.s3_table_bodies import S3TableBodies
    from sakuin.adapters.supabase_projects import SupabaseProjects
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.bootstrap.holding import holding
    from sakuin.bootstrap.reconciling import counting
    from sakuin.domain.table_index import tables_of
    from sakuin.entrypoints.sqs_tables import tool_handler
    from sakuin.services.every_index import IndexEverywhere
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
                count=counting(client, tables_of(each.settings), store, each.suffix),
            )
            for each in live_last(kept)
        }

    take = ImportBody(SupabaseProjects(client), bodies, settings.limits.table_bytes)
    queue = work_queue(settings.tool_queue_url, observed)
    handler = tool_handler(
        IndexEverywhere(walks),
        take,
        giving_up_tables(client, kept),
        postponing(queue),
        observed.logger,
        observed.metrics,
        observed.tracer,
        hold=holding(settings, secrets, observed),
        send_again=sending_again(queue),
        current=observed.work,
    )
    return sealed(handler, observed.redaction, observed.logger)
