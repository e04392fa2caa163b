"""A Lambda handler for a queue: one message an invocation, and a decision about each one that fails."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, OverBudget, SakuinError, Unavailable
from sakuin.platform.message_lease import MessageLease
from sakuin.platform.retry import MAX_RECEIVES, DeadLetter, Defer, Retry, decide_retry, retry_or_dead_letter
from sakuin.platform.sqs import LONGEST_DELAY_SECONDS, SqsQueue
from sakuin.platform.telemetry import CurrentWork, work_id_of
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject

M = TypeVar("M")

LEASE_SECONDS = 60
# How often a message was sent again because its wait could not be recorded.
COPIES_ATTRIBUTE = "copies"
# A receipt finishes a file, and a Table is finished when all of it is stored. Nothing else finishes a dead letter of
# another kind that was sent again.
_FINISHED_WITH_THEIR_RECORDS = ("file", "table")
_FIRST_COPY_SECONDS = 60
_LATER = 1.5
_NO_ANSWER = "The worker ended without an answer: too much memory, too much time, or a defect"


class QueueWork(Protocol[M]):
    """What the messages of one queue ask for."""

    @property
    def asks_vendors(self) -> bool:
        """Returns whether finished work shows that the vendors answer which others may wait for."""

    def read(self, message: Mapping[str, Any]) -> M | None:
        """Returns what a message asks for, None for one that asks for nothing. Any other message is `Invalid`."""

    def subject(self, asked: M) -> WorkSubject:
        """Returns what it is about."""

    def is_resumed(self, asked: M) -> bool:
        """Returns whether maintenance sent it for work that waited."""

    def process(self, asked: M) -> None:
        """Does the work. Any number of times, by any number of workers."""

    def give_up(self, asked: M, reason: str) -> None:
        """Records on the page, or the Tools of the Table, that its message becomes a dead letter."""


@dataclass(frozen=True, slots=True)
class _Received:
    id: str
    receipt_handle: str
    body: str
    attributes: Mapping[str, str]
    receives: int
    sent_ms: float


@dataclass(frozen=True, slots=True)
class QueueHandler:
    """Takes a message through `work`.

    A message that fails is delivered again, waits as a row of `unfinished`, or becomes a dead letter (`decide_retry`).
    A message that has to wait while Postgres does not answer is sent to its queue again with a delay.
    """

    queue: SqsQueue
    work: QueueWork[Any]
    unfinished: UnfinishedWorkStore
    logger: Logger
    metrics: Metrics
    current: CurrentWork
    lease_seconds: int = LEASE_SECONDS

    def handle(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Returns the partial batch response. An event of several messages fails whole: the template asks for one."""
        self.current.milliseconds_left = context.get_remaining_time_in_millis
        records = event["Records"]
        if len(records) != 1:
            self.logger.error("the event holds several messages: set BatchSize to 1", messages=len(records))
            return _failures(*(record["messageId"] for record in records))
        received = _received(records[0])
        lease = MessageLease(self.queue, received.receipt_handle, seconds=self.lease_seconds)
        asked = subject = failure = None
        try:
            message = parsed_message(received.body)
            self._name_work(received, message)
            asked = self.work.read(message)
            if asked is not None:
                subject = self.work.subject(asked)
                self._prepare_for_last(received, subject)
                self.work.process(asked)
        except Exception as error:
            failure = error
        finally:
            lease.stop()
        if failure is not None:
            return self._fail(received, asked, subject, failure)
        if subject is not None and self._may_be_recorded(received, asked, subject):
            self._finish(subject)
        return _failures()

    def _may_be_recorded(self, received: _Received, asked: object, subject: WorkSubject) -> bool:
        if subject.kind not in _FINISHED_WITH_THEIR_RECORDS:
            return True
        return received.receives > 1 or COPIES_ATTRIBUTE in received.attributes or self.work.is_resumed(asked)

    def _name_work(self, received: _Received, message: Mapping[str, Any]) -> None:
        self.current.id = work_id_of(received.attributes, message, received.id)
        self.logger.append_keys(correlation_id=self.current.id, message_id=received.id)
        waited = max(0.0, time.time() * 1000 - received.sent_ms)
        self.metrics.add_metric("MessageWaitedMilliseconds", MetricUnit.Milliseconds, waited)

    def _prepare_for_last(self, received: _Received, subject: WorkSubject) -> None:
        """Records the last delivery beforehand: a worker that it kills can say nothing afterwards."""
        if received.receives >= MAX_RECEIVES:
            try:
                self.unfinished.record_last_delivery(subject, _NO_ANSWER)
            except SakuinError as error:
                self.logger.warning("the last delivery is not recorded", reason=str(error))

    def _finish(self, subject: WorkSubject) -> None:
        try:
            self.unfinished.finish(subject, vendor_answered=self.work.asks_vendors)
        except SakuinError as error:
            # The row is due again later, and finds nothing left to do.
            self.logger.warning("finished work is not recorded", reason=str(error))

    def _fail(
        self, received: _Received, asked: object, subject: WorkSubject | None, error: Exception
    ) -> dict[str, Any]:
        decision = decide_retry(error, receives=received.receives, now=time.time())
        if isinstance(decision, Defer):
            if subject is not None and self._defer(received, subject, decision):
                name = "WorkOverBudget" if isinstance(error, OverBudget) else "WorkDeferred"
                self.metrics.add_metric(name, MetricUnit.Count, 1)
                return _failures()
            decision = retry_or_dead_letter(error, receives=received.receives)
        self.logger.error("message failed", exc_info=error)
        self.metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
        if subject is not None:
            self._record(asked, subject, decision)
        try:
            # A message whose deliveries are used up is a dead letter as soon as it would be delivered again.
            seconds = round(decision.seconds) if isinstance(decision, Retry) else 0
            self.queue.hide(received.receipt_handle, seconds=seconds)
        except Unavailable as late:
            self.logger.warning("message comes back after the queue's own time", reason=str(late))
        return _failures(received.id)

    def _defer(self, received: _Received, subject: WorkSubject, decision: Defer) -> bool:
        """Returns whether the message may leave its queue."""
        try:
            deferred = self.unfinished.defer(subject, decision)
        except SakuinError as error:
            self.logger.warning("a wait is not recorded", reason=str(error))
            return self._send_copy(received, decision)
        if deferred:
            self.logger.warning("work waits", reason=decision.reason, vendor=decision.vendor)
        return deferred

    def _send_copy(self, received: _Received, decision: Defer) -> bool:
        copies = int(received.attributes.get(COPIES_ATTRIBUTE, "0"))
        delay = min(max(decision.seconds, _FIRST_COPY_SECONDS * _LATER**copies), LONGEST_DELAY_SECONDS)
        attributes = {**received.attributes, COPIES_ATTRIBUTE: str(min(copies + 1, 20))}
        try:
            self.queue.send_copy(received.body, attributes, delay_seconds=round(delay))
        except Unavailable as error:
            self.logger.warning("message not sent again", reason=str(error))
            return False
        return True

    def _record(self, asked: object, subject: WorkSubject, decision: Retry | DeadLetter) -> None:
        try:
            if isinstance(decision, Retry):
                seconds, vendor = decision.seconds, decision.vendor
                self.unfinished.record_retry(subject, decision.reason, vendor=vendor, seconds=seconds)
            else:
                self.unfinished.record_dead_letter(subject, decision.reason)
                self.work.give_up(asked, decision.reason)
        except SakuinError as error:
            self.logger.warning("the failure is not recorded", reason=str(error))


def _failures(*ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": id} for id in ids]}


def _received(record: Mapping[str, Any]) -> _Received:
    attributes = record.get("messageAttributes") or {}
    return _Received(
        id=record["messageId"],
        receipt_handle=record["receiptHandle"],
        body=record["body"],
        attributes={name: value.get("stringValue") or "" for name, value in attributes.items()},
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
        sent_ms=float(record["attributes"]["SentTimestamp"]),
    )


def parsed_message(body: str) -> Mapping[str, Any]:
    """The JSON object of a message; anything else is `Invalid`."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The message is not JSON") from error
    if not isinstance(message, dict):
        raise Invalid("The message is not a JSON object")
    return message
