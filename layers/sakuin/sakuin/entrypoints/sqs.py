"""Messages from a queue, each on its own: one that fails is the only one that comes back."""

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sakuin.errors import Unavailable

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
# Says how many seconds from now a message, named by its receipt handle, is to come back.
Postpone = Callable[[str, int], None]

# A hiccup costs seconds, an outage of minutes no message: then the dead letter queue has it.
_RETRY_SECONDS = (5, 30, 180, 720)
# As every queue of the template says.
MAX_RECEIVE_COUNT = 5


def queue_handler(
    work: Callable[[str], None],
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    gave_up: Callable[[str, Exception], None] = lambda _body, _error: None,
) -> Handler:
    """A Lambda handler that gives each message's body to `work`; `gave_up` hears of a message's last failure."""

    def one(record: SQSRecord) -> None:
        try:
            work(record.body)
        except Exception as error:
            # The queue decides about a further try; the log says what went wrong.
            logger.exception("message failed", message_id=record.message_id)
            metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
            if _tries(record) >= MAX_RECEIVE_COUNT:
                gave_up(record.body, error)
            else:
                _try_sooner(record, postpone, logger)
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


def _try_sooner(record: SQSRecord, postpone: Postpone, logger: Logger) -> None:
    try:
        postpone(record.receipt_handle, _RETRY_SECONDS[min(_tries(record), len(_RETRY_SECONDS)) - 1])
    except Unavailable:
        # It comes back all the same, after the queue's own time.
        logger.warning("message not postponed", message_id=record.message_id)
