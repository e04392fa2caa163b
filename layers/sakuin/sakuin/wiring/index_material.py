"""The function `index_material`: processes events of the materials bucket."""

from collections.abc import Mapping

from sakuin.platform.redaction import Handler
from sakuin.settings import Settings
from sakuin.wiring.clients import (
    bucket_of_pages,
    learns_model,
    material_queue,
    secret_of,
    start_telemetry,
    supabase,
)
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import embedder_of_each_model, page_fingerprint, pages_of, recorded_versions


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    from sakuin.knowledge.bucket_events import BucketEvents
    from sakuin.knowledge.index_page import IndexPage
    from sakuin.knowledge.learns.ask_model import AskModel
    from sakuin.knowledge.learns.postgres import LearnsRecords, SendPendingLearns
    from sakuin.knowledge.learns.sources import LearnsSources
    from sakuin.knowledge.postgres import KnowledgeIndex

    settings, telemetry = Settings.read(environ), start_telemetry("Index")
    secrets = secret_of(settings, telemetry).now()
    bucket, queue = bucket_of_pages(settings), material_queue(settings, telemetry)
    client = supabase(settings, secrets, telemetry)
    index = KnowledgeIndex(client)
    embedder_for = embedder_of_each_model(settings, secrets, telemetry, client)
    model = learns_model(settings, secrets, telemetry, client)
    records = LearnsRecords(client)
    learns = LearnsSources(bucket, records, model, settings.material_prefix)
    pages = IndexPage(
        bucket=bucket,
        index=index,
        embedder=embedder_for(settings.embedding_model),
        learns=learns,
        version=page_fingerprint(settings),
        max_page_bytes=settings.limits.page_bytes,
        targets=pages_of(recorded_versions(client), embedder_for),
        most_explanations=settings.limits.page_explanations,
    )
    prefix = settings.material_prefix
    ask_model = AskModel(learns, records, pages, queue, SendPendingLearns(records, queue))
    work = BucketEvents(bucket, index, queue, pages, ask_model, prefix, telemetry.logger, telemetry.metrics)
    return queue_handler(settings.queue_url, work, settings, secrets, telemetry)
