"""The function that runs on a schedule."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from sakuin.bootstrap.aws import aws, bucket_of_pages, table_queues, work_queue
from sakuin.bootstrap.fingerprints import table_fingerprint
from sakuin.bootstrap.indexes import kept_or_own, own_index
from sakuin.bootstrap.watching import chunk_store, secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler, shielded
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.ports.tables import TableQueues
    from sakuin.services.maintain import Maintained
    from sakuin.services.reconcile import Reconciled


def maintainer(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that runs on a schedule."""
    import time
    from datetime import UTC, datetime

    from sakuin.adapters.eventbridge import EventBridgeBus
    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.supabase_indexes import SupabaseIndexes
    from sakuin.adapters.supabase_left_bodies import SupabaseLeftBodies
    from sakuin.adapters.supabase_outbox import SupabaseOutbox
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.adapters.supabase_tables import SupabaseTableIndex
    from sakuin.adapters.supabase_work import SupabaseWork
    from sakuin.bootstrap.holding import restarting, sending_due, work_queues
    from sakuin.bootstrap.reconciling import reconciling
    from sakuin.entrypoints.scheduled import schedule_handler
    from sakuin.services.build_indexes import BuildIndexes
    from sakuin.services.canary import Canary
    from sakuin.services.maintain import Maintain
    from sakuin.services.remove_bodies import RemoveBodies
    from sakuin.services.send_events import SendEvents

    settings, observed = Settings.read(environ), watch("Maintain")
    secrets = secret_of(settings, observed).now()
    client = supabase(settings, secrets, observed)
    send = SendEvents(SupabaseOutbox(client), EventBridgeBus(aws("events"), settings.event_bus_name))
    index = SupabaseTableIndex(client, table_fingerprint(settings))
    store = chunk_store(settings, secrets, observed)
    asks = table_queues(settings, observed)

    def asks_of(fingerprint: str) -> "TableQueues":
        return replace(asks, fingerprint=fingerprint)

    kept, queues = kept_or_own(client, settings), work_queues(settings)
    restart = restarting(client, kept, asks_of, queues)
    send_due = sending_due(settings, client, kept, queues)
    remove_bodies = RemoveBodies(
        SupabaseLeftBodies(client), S3Bucket(aws("s3"), settings.tables_bucket), lambda: datetime.now(UTC)
    )
    maintain = Maintain(send, index, store, restart, send_due, remove_bodies)
    build = BuildIndexes(
        indexes=SupabaseIndexes(client),
        own=own_index(settings),
        pages=work_queue(settings.queue_url, observed),
        queues=asks_of,
        flips=settings.flip_when_built,
    )
    canary = Canary(
        bucket_of_pages(settings), SupabaseRecords(client), settings.material_prefix, time.monotonic, time.sleep
    )
    parts = observed.logger, observed.metrics, observed.tracer
    net = observed.redaction, observed.logger
    counts = shielded(SupabaseWork(client).counts, *net)
    reconcile = reconciling(settings, secrets, observed, client)

    def reconciled(whole: bool) -> "Reconciled":
        return shielded(lambda: reconcile()(whole=whole), *net)()

    def maintained() -> "Maintained":
        try:
            return maintain()
        finally:
            observed.logger.info("indexes built", **asdict(build()))

    return schedule_handler(
        shielded(maintained, *net),
        shielded(canary, *net),
        *parts,
        observed.work,
        counts=counts,
        reconcile=reconciled,
    )
