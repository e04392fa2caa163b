"""The function `index_material`: processes events of the materials bucket."""

from collections.abc import Mapping
from functools import cache

from sakuin.platform.aws import Handler
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import own_index, pages_of, recorded_versions


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """Returns the handler of the function."""
    from sakuin.knowledge.bucket_events import BucketEvents
    from sakuin.knowledge.index_page import IndexPage
    from sakuin.knowledge.learns.ask_model import AskModel
    from sakuin.knowledge.learns.postgres import LearnsRecords, SendPendingLearns
    from sakuin.knowledge.learns.sources import LearnsSources
    from sakuin.knowledge.postgres import KnowledgeIndex

    clients = Clients.of(environ, "Index")
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    bucket, queue = clients.material_bucket(), clients.material_queue()
    index = KnowledgeIndex(client)
    embedder_for = cache(clients.indexing_embedder)
    records = LearnsRecords(client)
    learns = LearnsSources(bucket, records, clients.learns_model(), settings.material_prefix)
    pages = IndexPage(
        bucket=bucket,
        index=index,
        embedder=embedder_for(settings.embedding_model),
        learns=learns,
        version=own_index(settings).pages,
        max_page_bytes=settings.limits.page_bytes,
        targets=pages_of(recorded_versions(client), embedder_for),
        most_explanations=settings.limits.page_explanations,
    )
    prefix = settings.material_prefix
    ask_model = AskModel(learns, records, pages, queue, SendPendingLearns(records, queue))
    work = BucketEvents(bucket, index, queue, pages, ask_model, prefix, telemetry.logger, telemetry.metrics)
    return queue_handler(settings.queue_url, work, clients)
