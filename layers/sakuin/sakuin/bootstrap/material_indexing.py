"""The function that follows the bucket."""

from collections.abc import Mapping

from sakuin.bootstrap.aws import bucket_of_pages, material_queue
from sakuin.bootstrap.embedders import embedder_of_each_model
from sakuin.bootstrap.fingerprints import page_fingerprint
from sakuin.bootstrap.indexes import pages_of, recorded
from sakuin.bootstrap.queue_handling import handler_of
from sakuin.bootstrap.watching import indexing_embedder, learns_model, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler
from sakuin.settings import Settings


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that follows the bucket."""
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.knowledge.bucket_events import BucketEvents
    from sakuin.knowledge.index_page import IndexPage
    from sakuin.services.learns_sources import LearnsSources

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secret_of(settings, observed).now()
    bucket, queue = bucket_of_pages(settings), material_queue(settings, observed)
    client = supabase(settings, secrets, observed)
    index = SupabaseIndex(client)
    model = learns_model(settings, secrets, observed, client)
    pages = IndexPage(
        bucket=bucket,
        index=index,
        embedder=indexing_embedder(settings, secrets, observed, client),
        learns=LearnsSources(bucket, index, model, settings.material_prefix),
        fingerprint=page_fingerprint(settings),
        max_page_bytes=settings.limits.page_bytes,
        kept=pages_of(recorded(client), embedder_of_each_model(settings, secrets, observed, client)),
        most_explanations=settings.limits.page_explanations,
    )
    prefix = settings.material_prefix
    work = BucketEvents(bucket, index, queue, pages, prefix, observed.logger, observed.metrics)
    return handler_of(settings.queue_url, work, settings, secrets, observed)
