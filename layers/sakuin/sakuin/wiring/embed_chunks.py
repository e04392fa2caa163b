"""The function `embed_chunks`: embeds and stores the chunks of Tables."""

from functools import cache
from typing import TYPE_CHECKING

from sakuin.platform.aws import Handler
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import kept_or_own, live_last, table_indexes

if TYPE_CHECKING:
    from sakuin.tables.embed_chunks import EmbedWork


def handler(clients: Clients) -> Handler:
    """Returns the handler of the function."""
    return queue_handler(clients.settings.embed_queue_url, embed_work(clients), clients)


def embed_work(clients: Clients) -> "EmbedWork":
    """Returns what processes its messages."""
    from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure

    telemetry, client = clients.telemetry, clients.supabase
    store, embedder_for = clients.chunk_store(), cache(clients.indexing_embedder)
    kept = kept_or_own(clients)

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

    return EmbedWork(
        EmbedInEachVersion(embedders),
        RecordTableFailure(table_indexes(client, kept)),
        telemetry.logger,
        telemetry.metrics,
    )
