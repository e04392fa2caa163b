"""The function `embed_chunks`: embeds and stores the chunks of Tables."""

from collections.abc import Mapping

from sakuin.platform.redaction import Handler
from sakuin.settings import Settings
from sakuin.wiring.clients import chunk_store, secret_of, start_telemetry, supabase
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import embedder_of_each_model, kept_or_own, live_last, table_indexes


def chunk_embedder(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    from sakuin.tables.embed_chunks import EmbedChunks, EmbedInEachVersion, EmbedWork
    from sakuin.tables.postgres import TableIndex
    from sakuin.tables.recovery import RecordTableFailure

    settings, telemetry = Settings.read(environ), start_telemetry("Index")
    secrets = secret_of(settings, telemetry).now()
    client = supabase(settings, secrets, telemetry)
    store = chunk_store(settings, secrets, telemetry)
    embedder_for = embedder_of_each_model(settings, secrets, telemetry, client)
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
    return queue_handler(settings.embed_queue_url, work, settings, secrets, telemetry)
