"""The function `embed_chunks`: embeds and stores the chunks of Tables."""

from collections.abc import Callable
from functools import cache, partial

from sakuin.platform.aws import Handler
from sakuin.retrieval.index_version import StoredIndexVersion
from sakuin.tables.embed_chunks import EmbedChunks, EmbedWork
from sakuin.tables.postgres import TableIndex
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import Kept, kept_versions

# After pages, whose authors wait.
URGENCY = 5


def handler(clients: Clients) -> Handler:
    return queue_handler("embed", embed_work(clients, kept_versions(clients)), clients)


def embed_work(clients: Clients, kept: Kept) -> EmbedWork:
    """Returns what processes its messages."""
    return EmbedWork(kept, embedders(clients), clients.telemetry.logger, clients.telemetry.metrics)


def embedders(clients: Clients) -> Callable[[StoredIndexVersion], EmbedChunks]:
    """Returns what gives the embedding of chunks for an index version."""
    client, store = clients.supabase, clients.chunk_store()
    embedder_for = cache(partial(clients.indexing_embedder, urgency=URGENCY))

    def embed_of(version: StoredIndexVersion) -> EmbedChunks:
        settings = version.settings
        return EmbedChunks(TableIndex(client, settings.tables), store, embedder_for(settings.model), version.suffix)

    return embed_of
