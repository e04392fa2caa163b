"""Messages from a queue, each on its own: one that fails is the only one that comes back."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sakuin.domain.work import (
    WORK_ATTRIBUTE,
    About,
    Again,
    Begun,
    Dead,
    Done,
    Ended,
    Parked,
    Taken,
    WorkQueueName,
)
from sakuin.entrypoints.observing import CurrentWork, work_id_of
from sakuin.errors import OverBudget, SakuinError, Unavailable
from sakuin.services.judge_failure import judged

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
# Says how many seconds from now a message, named by its receipt handle, is to come back.
Postpone = Callable[[str, int], None]
# Sends a message to its own queue again, under the name of its row, to arrive after so many seconds.
SendAgain = Callable[[str, str, int], None]
# Hears what a message was about that failed for the last time, and why.
GaveUp = Callable[[About, str], None]

# SQS delays a message by fifteen minutes; a shorter delay would be a loop.
_SHORTEST_DELAY, _LONGEST_DELAY = 60, 900


class Held(Protocol):
    """The rows of a batch, while it is worked on."""

    def begun(self, work_id: str) -> Begun: ...

    def let_go(self, ended: Sequence[Ended]) -> bool: ...


class Unheld:
    """No rows at all: what cannot go on is sent again."""

    def begun(self, _work_id: str) -> Begun:
        return Begun()

    def let_go(self, _ended: Sequence[Ended]) -> bool:
        return False


def queue_handler(
    work: Callable[[str], None],
    postpone: Postpone,
    logger: Logger,
    metrics: Metrics,
    tracer: Tracer,
    *,
    queue: WorkQueueName = "material",
    about: Callable[[str], About] = lambda _body: About(),
    hold: Callable[[Sequence[Taken]], Held] = lambda _taken: Unheld(),
    gave_up: GaveUp = lambda _about, _reason: None,
    send_again: SendAgain | None = None,
    current: CurrentWork | None = None,
) -> Handler:
    """A Lambda handler that gives each message's body to `work`; `gave_up` hears of a message's last failure.

    What waits for a vendor, for the next day or for a worker with more time is parked: its row has it, and the queue no
    longer. Where the row cannot be written, the message is sent to its queue again.
    """
    current_work = current or CurrentWork()

    @metrics.log_metrics
    @tracer.capture_lambda_handler(capture_response=False)
    @logger.inject_lambda_context
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        current_work.milliseconds_left = context.get_remaining_time_in_millis
        taken = {record.message_id: _taken(record, queue, about) for record in map(SQSRecord, event["Records"])}
        batch = _Batch(work, postpone, logger, metrics, gave_up, current_work, taken, hold(list(taken.values())))
        written = False
        try:
            processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
            done = process_partial_response(event=event, record_handler=batch.one, processor=processor, context=context)
        finally:
            written = batch.held.let_go(batch.ended)
        answer: dict[str, Any] = dict(done)
        if not written:
            answer["batchItemFailures"] += batch.sent_again(send_again)
        return answer

    return handler


@dataclass
class _Batch:
    """The messages of one invocation. `taken` is by the queue's name of a message."""

    work: Callable[[str], None]
    postpone: Postpone
    logger: Logger
    metrics: Metrics
    gave_up: GaveUp
    current: CurrentWork
    taken: dict[str, Taken]
    held: Held
    ended: list[Ended] = field(default_factory=list)
    parked: list[tuple[str, Taken, Parked]] = field(default_factory=list)

    def one(self, record: SQSRecord) -> None:
        taken = self.taken[record.message_id]
        self.current.id = taken.correlation_id
        self.logger.append_keys(correlation_id=taken.correlation_id, message_id=record.message_id)
        self.metrics.add_metric("MessageWaitedMilliseconds", MetricUnit.Milliseconds, _age_ms(record))
        # A message that comes for the first time, under its own name, need not wait for the answer.
        if (taken.tries > 1 or taken.id != record.message_id) and self.held.begun(taken.id).dead:
            self.logger.warning("message is a dead letter already", work_id=taken.id)
            return
        try:
            self.work(record.body)
        except Exception as error:
            if self._failed(record, taken, error):
                raise
        else:
            self.ended.append(Ended(taken, Done()))

    def sent_again(self, send_again: SendAgain | None) -> list[dict[str, str]]:
        """Sends what was parked to its queue again; what that failed for, as failures of the batch."""
        failed = []
        for message_id, taken, verdict in self.parked:
            delay = min(max(round(verdict.seconds), _SHORTEST_DELAY), _LONGEST_DELAY)
            try:
                if send_again is None:
                    raise Unavailable("there is nobody who sends it", vendor="sqs")
                send_again(taken.body, taken.id, delay)
            except Unavailable:
                self.logger.warning("message not sent again", work_id=taken.id)
                failed.append({"itemIdentifier": message_id})
        return failed

    def _failed(self, record: SQSRecord, taken: Taken, error: Exception) -> bool:
        """Whether the queue is to keep the message."""
        begun = self.held.begun(taken.id)
        # Jitter, no secret.
        chance = random.random()  # noqa: S311
        verdict = judged(
            error, tries=taken.tries, now=time.time(), chance=chance, parks=begun.parks, waited=begun.waited
        )
        self.ended.append(Ended(taken, verdict))
        if isinstance(verdict, Parked):
            self.logger.warning("message waits", reason=verdict.reason, vendor=verdict.vendor)
            name = "WorkPostponed" if isinstance(error, OverBudget) else "WorkParked"
            self.metrics.add_metric(name, MetricUnit.Count, 1)
            self.parked.append((record.message_id, taken, verdict))
            return False
        # The queue decides about a further try; the log says what went wrong.
        self.logger.exception("message failed")
        self.metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
        if isinstance(verdict, Dead):
            self._give_up(taken, verdict)
        # After its last try the queue takes it among the dead letters as soon as it would give it out again.
        self._come_back(record, round(verdict.seconds) if isinstance(verdict, Again) else 0)
        return True

    def _give_up(self, taken: Taken, verdict: Dead) -> None:
        try:
            self.gave_up(taken.about, verdict.reason)
        except SakuinError as error:
            self.logger.warning("the last failure is not written", reason=str(error))

    def _come_back(self, record: SQSRecord, seconds: int) -> None:
        try:
            self.postpone(record.receipt_handle, seconds)
        except Unavailable:
            # It comes back all the same, after the queue's own time.
            self.logger.warning("message not postponed")


def _taken(record: SQSRecord, queue: WorkQueueName, about: Callable[[str], About]) -> Taken:
    attributes = record.raw_event.get("messageAttributes") or {}
    return Taken(
        id=attributes.get(WORK_ATTRIBUTE, {}).get("stringValue") or record.message_id,
        queue=queue,
        body=record.body,
        correlation_id=work_id_of(attributes, record.body, record.message_id),
        about=_known(about, record.body),
        tries=int(record.attributes.approximate_receive_count),
        sent_at=float(record.attributes.sent_timestamp) / 1000,
    )


def _known(about: Callable[[str], About], body: str) -> About:
    try:
        return about(body)
    except SakuinError:
        # What nobody can read is about nothing; the worker will say why.
        return About()


def _age_ms(record: SQSRecord) -> float:
    return max(0.0, time.time() * 1000 - float(record.attributes.sent_timestamp))
