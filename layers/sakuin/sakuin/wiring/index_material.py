"""The function `index_material`: processes events of the materials bucket."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from sakuin.errors import SakuinError
from sakuin.knowledge.ask_model import AskModel
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.knowledge.index_page import IndexPage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.messages import Announcements
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords
from sakuin.platform.aws import Handler
from sakuin.upkeep.daily_counts import SECONDS, DailyCountRecords, DailyCounts
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import own_index, stored_pages

# Without events, after one that could not be sent.
_PAUSE_SECONDS = 60.0


def handler(clients: Clients) -> Handler:
    counts = DailyCounts(DailyCountRecords(clients.short_supabase(SECONDS)).write)

    def count_event(fresh: float | None) -> None:
        if fresh is not None:
            counts.add_duration("fresh", fresh)
        counts.write_now()

    events = replace(bucket_events(clients), count_event=count_event)
    return queue_handler("material", events, clients)


def bucket_events(clients: Clients) -> BucketEvents:
    """Returns what processes its messages."""
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    bucket, queue = clients.material_bucket(), clients.material_queue()
    index = KnowledgeIndex(client, stored_pages=stored_pages(clients))
    records = LearnsRecords(client)
    learns = LearnsSources(bucket, records, clients.learns_model(), settings.material_prefix)
    own = own_index(settings)
    pages = IndexPage(
        bucket=bucket,
        index=index,
        embedder_of=cache(clients.indexing_embedder),
        learns=learns,
        version=own.pages,
        add_version=partial(IndexVersions(client).add, own),
        max_page_bytes=settings.limits.page_bytes,
        most_explanations=settings.limits.page_explanations,
        box_selectors=settings.box_selectors,
    )
    prefix = settings.material_prefix
    ask_model = AskModel(learns, records, pages, queue)
    announcements, paused_until = Announcements(client, cache(clients.event_bus)), 0.0

    def announce(page: Mapping[str, Any]) -> None:
        nonlocal paused_until
        if clients.clock() < paused_until:
            return
        try:
            announcements.send([page])
        except SakuinError as error:
            # Maintenance sends it. The next pages do not wait for a bus that does not answer.
            paused_until = clients.clock() + _PAUSE_SECONDS
            telemetry.logger.warning("an event is not sent", material=page["material"], reason=str(error))

    return BucketEvents(
        bucket, index, queue, pages, ask_model, prefix, telemetry.logger, telemetry.metrics, announce=announce
    )
