"""The Lambda handler of a queue: one message in each invocation, and a decision about a message that fails."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, OverBudget, SakuinError, Unavailable
from sakuin.platform.retry import (
    MAX_RECEIVES,
    DeadLetter,
    Defer,
    Retry,
    SendAgain,
    decide_retry,
    reason_of,
    retry_or_dead_letter,
)
from sakuin.platform.sqs import GROUP_ATTRIBUTE, LONGEST_DELAY_SECONDS, MessageLease, SqsQueue
from sakuin.platform.telemetry import CurrentWork, work_id_of
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkMessage, WorkSubject
from sakuin.texts.catalogue import coded

M = TypeVar("M", bound="WorkRequest")

LEASE_SECONDS = 60
# How many times a message was sent again because its deferral could not be recorded.
COPIES_ATTRIBUTE = "copies"
# Of a message that continues work which waited or failed: its row is deleted when it is done.
RESUMED = {COPIES_ATTRIBUTE: "0"}
_FIRST_COPY_SECONDS = 60
_DELAY_FACTOR = 1.5
_MAX_COPIES = 20


class WorkRequest(Protocol):
    """What a message asks for."""

    @property
    def subject(self) -> WorkSubject | None:
        """Returns its subject; None if the work needs no row when it fails, since it has its own."""


class QueueWork(Protocol[M]):
    """The work of one queue."""

    def read(self, message: Mapping[str, Any]) -> M | None:
        """Returns the request in a message, None if the message requests nothing; `Invalid` for an unknown message."""

    def process(self, request: M) -> None:
        """Does the work. Repeated and concurrent calls are safe."""

    def give_up(self, request: M, reason: str) -> None:
        """Records on the page, or the Tools of the Table, that the message becomes a dead letter."""


@dataclass(frozen=True, slots=True)
class _Received:
    id: str
    receipt_handle: str
    body: str
    attributes: Mapping[str, str]
    receives: int
    sent_ms: float
    group: str


@dataclass(frozen=True, slots=True)
class QueueHandler:
    """Processes messages with `work`.

    A message that fails is delivered again, deferred as a row of `unfinished`, or becomes a dead letter
    (`decide_retry`); one that cannot be read is a dead letter at once. A deferral that Postgres cannot record is
    sent to the queue again with a delay.
    """

    queue: SqsQueue
    work: QueueWork[Any]
    unfinished: UnfinishedWorkStore
    logger: Logger
    metrics: Metrics
    current: CurrentWork
    lease_seconds: int = LEASE_SECONDS

    def handle(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Returns the partial batch response. All messages of an event with several fail: `BatchSize` must be 1."""
        records = event["Records"]
        if len(records) != 1:
            self.logger.error("the event has several messages; set BatchSize to 1", messages=len(records))
            return _failures(*(record["messageId"] for record in records))
        received = _received(records[0])
        record = partial(self._record_lease, received)
        lease = MessageLease(self.queue, received.receipt_handle, seconds=self.lease_seconds, record=record)
        request = subject = failure = None
        try:
            message = parsed_message(received.body)
            self._name_work(received, message)
            request = self.work.read(message)
            if request is not None:
                if request.subject is not None:
                    subject = request.subject.of(WorkMessage(self.queue.name, received.body, received.group))
                    self._record_last_delivery(received, subject)
                self.work.process(request)
        except Exception as error:
            failure = error
        finally:
            lease.stop()
        if lease.is_recorded or received.receives > 1:
            self._end_lease(received)
        if failure is not None:
            return self._fail(received, request, subject, failure)
        if subject is not None and _may_be_recorded(received, subject):
            self._finish(subject)
        return _failures()

    def _name_work(self, received: _Received, message: Mapping[str, Any]) -> None:
        self.current.id = work_id_of(received.attributes, message, received.id)
        self.logger.append_keys(correlation_id=self.current.id, message_id=received.id)
        waited = max(0.0, time.time() * 1000 - received.sent_ms)
        self.metrics.add_metric("MessageWaitedMilliseconds", MetricUnit.Milliseconds, waited)

    def _record_lease(self, received: _Received, seconds: float) -> None:
        # Nobody waits for it: without it only the list of messages in flight is shorter.
        with suppress(SakuinError):
            self.unfinished.renew_lease(
                received.id, self.queue.name, received.body, worked=seconds, seconds=self.lease_seconds
            )

    def _end_lease(self, received: _Received) -> None:
        with suppress(SakuinError):
            self.unfinished.end_lease(received.id)

    def _record_last_delivery(self, received: _Received, subject: WorkSubject) -> None:
        """Records the failure of the last delivery in advance: a killed worker cannot record it."""
        if received.receives >= MAX_RECEIVES:
            try:
                self.unfinished.record_last_delivery(subject, coded("work.no_answer"))
            except SakuinError as error:
                self.logger.warning("the last delivery is not recorded", reason=str(error))

    def _finish(self, subject: WorkSubject) -> None:
        try:
            self.unfinished.finish(subject, vendor_answered=subject.asks_vendors)
        except SakuinError as error:
            # The row becomes due again, and its message then has nothing to do.
            self.logger.warning("finished work is not recorded", reason=str(error))

    def _fail(
        self, received: _Received, request: object, subject: WorkSubject | None, error: Exception
    ) -> dict[str, Any]:
        decision = decide_retry(error, receives=received.receives, now=time.time())
        if request is None and isinstance(error, Invalid):
            # No delivery can read it.
            decision = DeadLetter(reason_of(error))
        if isinstance(decision, Defer | SendAgain):
            if subject is not None and self._defer(received, subject, decision):
                name = "WorkOverBudget" if isinstance(error, OverBudget) else "WorkDeferred"
                self.metrics.add_metric(name, MetricUnit.Count, 1)
                return _failures()
            decision = retry_or_dead_letter(error, receives=received.receives)
        self.logger.error("message failed", exc_info=error)
        self.metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
        if subject is not None:
            self._record(request, subject, decision)
        if isinstance(decision, DeadLetter) and self._send_dead_letter(received, decision.reason):
            return _failures()
        try:
            seconds = round(decision.seconds) if isinstance(decision, Retry) else 0
            self.queue.hide(received.receipt_handle, seconds=seconds)
        except Unavailable as unavailable:
            self.logger.warning("the retry delay is not set; the visibility timeout applies", reason=str(unavailable))
        return _failures(received.id)

    def _send_dead_letter(self, received: _Received, reason: str) -> bool:
        """Returns whether the message may leave its queue."""
        tries = received.receives
        try:
            self.queue.send_dead_letter(
                received.body, received.attributes, reason=reason, tries=tries, group=received.group
            )
        except Unavailable as error:
            self.logger.warning("the dead letter is not sent; the message is delivered again", reason=str(error))
            return False
        return True

    def _defer(self, received: _Received, subject: WorkSubject, decision: Defer | SendAgain) -> bool:
        """Returns whether the message may leave its queue."""
        try:
            if isinstance(decision, SendAgain):
                deferred = self.unfinished.record_wait(
                    subject, decision.reason, seconds=decision.seconds, longest=decision.longest
                )
            else:
                deferred = self.unfinished.defer(subject, decision)
        except SakuinError as error:
            self.logger.warning("a deferral is not recorded", reason=str(error))
            return self._send_copy(received, decision.seconds, is_slower=isinstance(decision, Defer))
        if deferred and isinstance(decision, SendAgain):
            deferred = self._send_copy(received, decision.seconds)
        if deferred:
            vendor = decision.vendor if isinstance(decision, Defer) else None
            self.logger.warning("work deferred", reason=decision.reason, vendor=vendor)
        return deferred

    def _send_copy(self, received: _Received, seconds: float, *, is_slower: bool = False) -> bool:
        """Sends a copy of the message that is delivered after `seconds`, or, if `is_slower`, later with each copy."""
        copies = int(received.attributes.get(COPIES_ATTRIBUTE, "0"))
        least = _FIRST_COPY_SECONDS * _DELAY_FACTOR**copies if is_slower else 0.0
        delay = min(max(seconds, least), LONGEST_DELAY_SECONDS)
        attributes = {**received.attributes, COPIES_ATTRIBUTE: str(min(copies + 1, _MAX_COPIES))}
        try:
            self.queue.send_copy(received.body, attributes, delay_seconds=round(delay), group=received.group)
        except Unavailable as error:
            self.logger.warning("message not sent again", reason=str(error))
            return False
        return True

    def _record(self, request: object, subject: WorkSubject, decision: Retry | DeadLetter) -> None:
        try:
            if isinstance(decision, Retry):
                seconds, vendor = decision.seconds, decision.vendor
                self.unfinished.record_retry(subject, decision.reason, vendor=vendor, seconds=seconds)
            else:
                self.unfinished.record_dead_letter(subject, decision.reason)
                self.work.give_up(request, decision.reason)
        except SakuinError as error:
            self.logger.warning("the failure is not recorded", reason=str(error))


def _may_be_recorded(received: _Received, subject: WorkSubject) -> bool:
    return not subject.finishes_itself or received.receives > 1 or COPIES_ATTRIBUTE in received.attributes


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
        group=record["attributes"].get(GROUP_ATTRIBUTE, ""),
    )


def parsed_message(body: str) -> Mapping[str, Any]:
    """Returns the JSON object of a message; `Invalid` for anything else."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid(coded("letter.not_json")) from error
    if not isinstance(message, dict):
        raise Invalid(coded("letter.not_object"))
    return message
