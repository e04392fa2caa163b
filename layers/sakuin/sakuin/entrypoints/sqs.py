"""Messages from the material queue, each on its own: one that fails is the only one that comes back."""

import time
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sakuin.entrypoints.material_messages import changes
from sakuin.errors import Unavailable
from sakuin.services.follow_bucket import Change, Followed

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
# Says how many seconds from now a message, named by its receipt handle, is to come back.
Postpone = Callable[[str, int], None]

# A hiccup costs seconds, an outage of minutes no message: then the dead letter queue has it.
_RETRY_SECONDS = (5, 30, 180, 720)


def material_handler(
    follow: Callable[[Change], Followed], postpone: Postpone, logger: Logger, metrics: Metrics, tracer: Tracer
) -> Handler:
    """A Lambda handler for the material queue."""

    def one(record: SQSRecord) -> None:
        try:
            for change in changes(record.body):
                _report(follow, change, logger, metrics)
        except Exception:
            # The queue decides about a further try; the log says what went wrong.
            logger.exception("message failed", message_id=record.message_id)
            metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
            _try_sooner(record, postpone, logger)
            raise

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    @metrics.log_metrics
    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return dict(process_partial_response(event=event, record_handler=one, processor=processor, context=context))

    return handler


def _try_sooner(record: SQSRecord, postpone: Postpone, logger: Logger) -> None:
    tries = int(record.attributes.approximate_receive_count)
    try:
        postpone(record.receipt_handle, _RETRY_SECONDS[min(tries, len(_RETRY_SECONDS)) - 1])
    except Unavailable:
        # It comes back all the same, after the queue's own time.
        logger.warning("message not postponed", message_id=record.message_id)


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
        metrics.add_metric("TextsEmbedded", MetricUnit.Count, result.embedded)
        metrics.add_metric("PageMilliseconds", MetricUnit.Milliseconds, milliseconds)
