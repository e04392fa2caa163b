"""Messages from the material queue."""

import time
from collections.abc import Callable

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.entrypoints.material_messages import changes
from sakuin.entrypoints.observing import CurrentWork
from sakuin.entrypoints.sqs import Handler, Postpone, SendAgain, queue_handler
from sakuin.services.follow_bucket import Change, Followed


def material_handler(
    follow: Callable[[Change], Followed],
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    send_again: SendAgain = lambda _body, _seconds: None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler for the material queue."""

    def work(body: str) -> None:
        for change in changes(body):
            _report(follow, change, logger, metrics)

    return queue_handler(work, postpone, logger, metrics, tracer, send_again=send_again, current=current)


def _report(follow: Callable[[Change], Followed], change: Change, logger: Logger, metrics: Metrics) -> None:
    started = time.perf_counter()
    done = follow(change)
    milliseconds = (time.perf_counter() - started) * 1000
    result = done.result
    logger.info(
        "change followed",
        change=type(change).__name__,
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
        metrics.add_metric("PagesApplied" if applied else "PagesNotApplied", MetricUnit.Count, 1)
        metrics.add_metric("KnowledgeChunks", MetricUnit.Count, result.chunks if applied else 0)
        metrics.add_metric("TextsEmbedded", MetricUnit.Count, result.embedded)
        metrics.add_metric("PageMilliseconds", MetricUnit.Milliseconds, milliseconds)
