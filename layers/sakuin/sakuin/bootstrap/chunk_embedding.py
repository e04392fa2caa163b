"""The function that embeds the chunks of Tables."""

from collections.abc import Mapping

from sakuin.bootstrap.embedders import embedder_of_each_model
from sakuin.bootstrap.indexes import kept_or_own, live_last, table_indexes
from sakuin.bootstrap.queue_handling import handler_of
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler
from sakuin.settings import Settings


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that embeds the chunks of Tables."""
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.domain.table_index import tables_of
    from sakuin.entrypoints.sqs_tables import EmbedWork
    from sakuin.services.embed_chunks import EmbedChunks
    from sakuin.services.every_index import EmbedEverywhere
    from sakuin.services.give_up_table import GiveUpTable

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
            )
            for each in live_last(kept)
        }

    work = EmbedWork(
        EmbedEverywhere(embedding), GiveUpTable(table_indexes(client, kept)), observed.logger, observed.metrics
    )
    url = settings.embed_queue_url
    return handler_of(url, work, settings, secrets, observed)
