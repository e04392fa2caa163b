"""The function `embed_chunks`: embeds and stores the chunks of Tables."""

from collections.abc import Callable
from functools import cache, partial

from sakuin.platform.aws import Handler
from sakuin.tables.embed_chunks import EmbedChunks, EmbedWork
from sakuin.tables.postgres import TableIndex
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import Kept, kept_or_own, live_last

# After pages, whose authors wait.
URGENCY = 5


def handler(clients: Clients) -> Handler:
    return queue_handler("embed", embed_work(clients, kept_or_own(clients)), clients)


def embed_work(clients: Clients, kept: Kept) -> EmbedWork:
    """Returns what processes its messages."""
    return EmbedWork(embedders(clients, kept), clients.telemetry.logger, clients.telemetry.metrics)


def embedders(clients: Clients, kept: Kept) -> Callable[[], dict[str, EmbedChunks]]:
    """Returns what embeds the chunks of each index version, the live one last."""
    client, store = clients.supabase, clients.chunk_store()
    embedder_for = cache(partial(clients.indexing_embedder, urgency=URGENCY))

    def by_version() -> dict[str, EmbedChunks]:
        return {
            each.tables: EmbedChunks(
                TableIndex(client, each.settings.tables), store, embedder_for(each.settings.model), each.suffix
            )
            for each in live_last(kept)
        }

    return by_version
