"""Messages from a queue, each on its own: one that fails is the only one that comes back."""

import time
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sakuin.entrypoints.observing import CurrentWork, work_id_of
from sakuin.errors import OverBudget, Unavailable

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
# Says how many seconds from now a message, named by its receipt handle, is to come back.
Postpone = Callable[[str, int], None]
# Sends a message again, to arrive after so many seconds.
SendAgain = Callable[[str, int], None]

# A hiccup costs seconds, an outage of minutes no message: then the dead letter queue has it.
_RETRY_SECONDS = (5, 30, 180, 720)
# As every queue of the template says.
MAX_RECEIVE_COUNT = 5
# SQS hides a message for twelve hours at most, and delays a new one by fifteen minutes.
_LONGEST_HIDDEN = 11 * 3600
_LONGEST_DELAY = 900
_DAY = 86_400


def queue_handler(
    work: Callable[[str], None],
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    gave_up: Callable[[str, Exception], None] = lambda _body, _error: None,
    waits: Callable[[str, Exception], None] = lambda _body, _error: None,
    send_again: SendAgain = lambda _body, _seconds: None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler that gives each message's body to `work`; `gave_up` hears of a message's last failure.

    A message that is over the day's budget comes back with the next day (UTC), and is sent anew before such waits
    make it a dead letter. `waits` hears of it.
    """
    current_work = current or CurrentWork()

    def one(record: SQSRecord) -> None:
        current_work.id = work_id_of(record.raw_event.get("messageAttributes") or {}, record.body, record.message_id)
        logger.append_keys(correlation_id=current_work.id, message_id=record.message_id)
        metrics.add_metric("MessageWaitedMilliseconds", MetricUnit.Milliseconds, _age_ms(record))
        try:
            work(record.body)
        except OverBudget as error:
            waits(record.body, error)
            logger.warning("message waits", reason=str(error))
            metrics.add_metric("WorkPostponed", MetricUnit.Count, 1)
            if _tries(record) < MAX_RECEIVE_COUNT - 1:
                _come_back(record, postpone, logger, seconds=min(_until_tomorrow(), _LONGEST_HIDDEN))
                raise
            send_again(record.body, _LONGEST_DELAY)
        except Exception as error:
            # The queue decides about a further try; the log says what went wrong.
            logger.exception("message failed")
            metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
            if _tries(record) >= MAX_RECEIVE_COUNT:
                gave_up(record.body, error)
            else:
                _come_back(record, postpone, logger, seconds=_RETRY_SECONDS[_tries(record) - 1])
            raise

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    @metrics.log_metrics
    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return dict(process_partial_response(event=event, record_handler=one, processor=processor, context=context))

    return handler


def _tries(record: SQSRecord) -> int:
    return int(record.attributes.approximate_receive_count)


def _age_ms(record: SQSRecord) -> float:
    return max(0.0, time.time() * 1000 - float(record.attributes.sent_timestamp))


def _until_tomorrow() -> int:
    return _DAY - int(time.time()) % _DAY


def _come_back(record: SQSRecord, postpone: Postpone, logger: Logger, *, seconds: int) -> None:
    try:
        postpone(record.receipt_handle, seconds)
    except Unavailable:
        # It comes back all the same, after the queue's own time.
        logger.warning("message not postponed")
