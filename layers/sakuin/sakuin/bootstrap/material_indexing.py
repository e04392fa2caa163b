"""The function that follows the bucket."""

from collections.abc import Mapping

from sakuin.bootstrap.aws import bucket_of_pages, postponing, sending_again, work_queue
from sakuin.bootstrap.embedders import embedder_of_each_model
from sakuin.bootstrap.fingerprints import page_fingerprint
from sakuin.bootstrap.indexes import pages_of, recorded
from sakuin.bootstrap.watching import indexing_embedder, learns_model, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler, sealed
from sakuin.settings import Settings


def material_indexer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that follows the bucket."""
    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.bootstrap.holding import holding
    from sakuin.entrypoints.sqs_materials import material_handler
    from sakuin.services.apply_page import ApplyPage
    from sakuin.services.follow_bucket import FollowBucket
    from sakuin.services.give_up_page import GiveUpPage
    from sakuin.services.learns_sources import LearnsSources

    settings, observed = Settings.read(environ), watch("Index")
    secrets = secret_of(settings, observed).now()
    bucket, queue = bucket_of_pages(settings), work_queue(settings.queue_url, observed)
    client = supabase(settings, secrets, observed)
    index = SupabaseIndex(client)
    model = learns_model(settings, secrets, observed, client)
    apply_page = ApplyPage(
        bucket=bucket,
        index=index,
        embedder=indexing_embedder(settings, secrets, observed, client),
        learns=LearnsSources(bucket, index, model, settings.material_prefix),
        fingerprint=page_fingerprint(settings),
        max_page_bytes=settings.max_page_bytes,
        kept=pages_of(recorded(client), embedder_of_each_model(settings, secrets, observed, client)),
        most_explanations=settings.limits.page_explanations,
    )
    handler = material_handler(
        FollowBucket(bucket, index, queue, apply_page, settings.material_prefix),
        postponing(queue),
        observed.logger,
        observed.metrics,
        observed.tracer,
        prefix=settings.material_prefix,
        hold=holding(settings, secrets, observed),
        gave_up=GiveUpPage(index, settings.material_prefix, bucket),
        send_again=sending_again(queue),
        current=observed.work,
    )
    return sealed(handler, observed.redaction, observed.logger)
