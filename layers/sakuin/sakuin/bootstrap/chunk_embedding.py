"""The function that embeds the chunks of Tables."""

from collections.abc import Mapping

from sakuin.bootstrap.aws import postponing, sending_again, work_queue
from sakuin.bootstrap.embedders import embedder_of_each_model
from sakuin.bootstrap.giving_up import giving_up_tables
from sakuin.bootstrap.indexes import kept_or_own, live_last
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler, sealed
from sakuin.settings import Settings


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that embeds the chunks of Tables."""
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.bootstrap.holding import holding
    from sakuin.bootstrap.reconciling import counting
    from sakuin.domain.table_index import tables_of
    from sakuin.entrypoints.sqs_tables import embed_handler
    from sakuin.services.embed_chunks import EmbedChunks
    from sakuin.services.every_index import EmbedEverywhere

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    store = chunk_store(settings, secrets, observed)
    embeds = embedder_of_each_model(settings, secrets, observed, client)
    kept = kept_or_own(client, settings)

    def embedding() -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                SupabaseTableIndex(client, tables_of(each.settings)),
                store,
                embeds(each.settings.model),
                each.suffix,
                counting(client, tables_of(each.settings), store, each.suffix),
            )
            for each in live_last(kept)
        }

    queue = work_queue(settings.embed_queue_url, observed)
    handler = embed_handler(
        EmbedEverywhere(embedding),
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
