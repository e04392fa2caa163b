"""The work of the material queue."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.material_messages import bucket_event
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.services.follow_bucket import BucketEvent, BucketEvents, ObjectRemoved, RecheckKey, ReindexMaterial
from sakuin.services.give_up_page import GiveUpPage


@dataclass(frozen=True, slots=True)
class MaterialWork:
    """A `QueueWork`: brings the index in line with the bucket."""

    events: BucketEvents
    give_up_page: GiveUpPage
    logger: Logger
    metrics: Metrics
    asks_vendors: bool = True

    def read(self, message: Mapping[str, Any]) -> BucketEvent | None:
        return bucket_event(message)

    def subject(self, asked: BucketEvent) -> WorkSubject:
        return subject_of_event(asked)

    def is_resumed(self, asked: BucketEvent) -> bool:
        return isinstance(asked, ReindexMaterial | RecheckKey) and asked.resumed

    def give_up(self, asked: BucketEvent, reason: str) -> None:
        self.give_up_page(asked, reason)

    def process(self, asked: BucketEvent) -> None:
        started = time.perf_counter()
        done = self.events.process(asked)
        milliseconds = (time.perf_counter() - started) * 1000
        result = done.result
        self.logger.info(
            "bucket event processed",
            bucket_event=type(asked).__name__,
            material=done.material,
            outcome=result.applied.outcome if result else "ignored",
            reason=result.reason if result else done.ignored,
            chunks=result.chunks if result else 0,
            embedded=result.embedded if result else 0,
            asked=done.asked,
            milliseconds=round(milliseconds),
        )
        if result is not None:
            applied = result.applied.outcome == "applied"
            self.metrics.add_metric("PagesApplied" if applied else "PagesNotApplied", MetricUnit.Count, 1)
            self.metrics.add_metric("KnowledgeChunks", MetricUnit.Count, result.chunks if applied else 0)
            self.metrics.add_metric("TextsEmbedded", MetricUnit.Count, result.embedded)
            self.metrics.add_metric("PageMilliseconds", MetricUnit.Milliseconds, milliseconds)


def subject_of_event(event: BucketEvent) -> WorkSubject:
    """What an event of the bucket is about: a file, or a material that is indexed again."""
    if isinstance(event, ReindexMaterial):
        return WorkSubject("material", event.material)
    if isinstance(event, RecheckKey):
        return WorkSubject(
            "file", event.key, version_id=event.version_id, sequencer=event.sequencer, removed=event.removed
        )
    source = event.source
    removed = isinstance(event, ObjectRemoved) and event.marker
    return WorkSubject("file", source.key, version_id=source.version_id, sequencer=source.sequencer, removed=removed)
