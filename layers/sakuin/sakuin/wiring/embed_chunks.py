"""The function `embed_chunks`: embeds and stores the chunks of Tables."""

from collections.abc import Mapping
from functools import cache

from sakuin.platform.aws import Handler
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import kept_or_own, live_last, table_indexes


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure

    clients = Clients.of(environ, "Index")
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    store, embedder_for = clients.chunk_store(), cache(clients.indexing_embedder)
    kept = kept_or_own(client, settings)

    def embedders() -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                TableIndex(client, each.settings.tables),
                store,
                embedder_for(each.settings.model),
                each.suffix,
            )
            for each in live_last(kept)
        }

    work = EmbedWork(
        EmbedInEachVersion(embedders),
        RecordTableFailure(table_indexes(client, kept)),
        telemetry.logger,
        telemetry.metrics,
    )
    return queue_handler(settings.embed_queue_url, work, clients)
