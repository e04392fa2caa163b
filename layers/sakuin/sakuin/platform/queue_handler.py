"""The Lambda handler of a queue: one message in each invocation, and a decision about a message that fails."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import Invalid, OverBudget, SakuinError, Unavailable
from sakuin.platform.retry import MAX_FAILURES, DeadLetter, Wait, WorkersDied, decide_retry, jitter, reason_of
from sakuin.platform.sqs import GROUP_ATTRIBUTE, SqsQueue
from sakuin.platform.telemetry import CurrentWork, work_id_of
from sakuin.platform.waiting import Record, WorkRecords, WorkRow
from sakuin.texts.catalogue import coded, stored

M = TypeVar("M")

# Attributes of a copy: the id and the time (seconds since 1970) of the message that was sent first, why it waits, and
# how often its work has failed.
ID_ATTRIBUTE, SENT_ATTRIBUTE, WHY_ATTRIBUTE, FAILURES_ATTRIBUTE = "first_id", "first_sent", "reason", "failures"


class QueueWork(Protocol[M]):
    """The work of one queue."""

    def read(self, message: Mapping[str, Any]) -> M | None:
        """Returns the request in a message, None if the message requests nothing; `Invalid` for an unknown message."""

    def row_of(self, request: M) -> WorkRow | None:
        """Returns the row that the request is about; None if it has records of its own that bring it back."""

    def process(self, request: M, record: Record | None) -> None:
        """Does the work. Repeated and concurrent calls are safe. `record` is that of the row, None without a row."""

    def give_up(self, request: M, reason: str) -> None:
        """Records on the page, or the Tools of the Table, that the message becomes a dead letter."""


@dataclass(frozen=True, slots=True)
class _Received:
    """A message. `first_id`, `first_sent` and `failures` are those of all its copies."""

    id: str
    body: str
    attributes: Mapping[str, str]
    receives: int
    sent: float
    group: str
    first_id: str
    first_sent: float
    failures: int

    @property
    def is_first(self) -> bool:
        """Returns whether nobody had it before."""
        return self.receives == 1 and self.first_id == self.id


@dataclass(frozen=True, slots=True)
class QueueHandler:
    """Processes messages with `work`.

    A message that fails waits: a copy of it is delivered later. It is a dead letter if its work has failed, or its
    worker has died, too often (`decide_retry`), and at once if it cannot be read. Its row says why it waits, and counts
    its attempts before they begin.
    """

    queue: SqsQueue
    work: QueueWork[Any]
    records: WorkRecords
    logger: Logger
    metrics: Metrics
    current: CurrentWork
    clock: Callable[[], float] = time.time
    jitter: Callable[[], float] = jitter

    def handle(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Returns the partial batch response. All messages of an event with several fail: `BatchSize` must be 1."""
        records = event["Records"]
        if len(records) != 1:
            self.logger.error("the event has several messages; set BatchSize to 1", messages=len(records))
            return _failures(*(record["messageId"] for record in records))
        received = _received(records[0])
        request = row = record = None
        try:
            message = parsed_message(received.body)
            self._name_work(received, message)
            request = self.work.read(message)
            if request is None:
                return _failures()
            row = self.work.row_of(request)
            if row is not None:
                attempts, record = self.records.begin(row, received.first_id)
                if attempts > MAX_FAILURES:
                    raise WorkersDied(coded("work.no_answer"))
            self.work.process(request, record)
        except Exception as error:
            return self._fail(received, request, row, error)
        if row is not None and (row.is_requested or not received.is_first):
            self._finish(row)
        return _failures()

    def _name_work(self, received: _Received, message: Mapping[str, Any]) -> None:
        self.current.id = work_id_of(received.attributes, message, received.id)
        self.logger.append_keys(correlation_id=self.current.id, message_id=received.id)
        waited = max(0.0, self.clock() - received.sent) * 1000
        self.metrics.add_metric("MessageWaitedMilliseconds", MetricUnit.Milliseconds, waited)

    def _finish(self, row: WorkRow) -> None:
        try:
            self.records.finish(row)
        except SakuinError as error:
            # The row says that it waits until its next message ends.
            self.logger.warning("finished work is not recorded", reason=str(error))

    def _fail(self, received: _Received, request: object, row: WorkRow | None, error: Exception) -> dict[str, Any]:
        waited = self.clock() - received.first_sent
        decision = decide_retry(error, failures=received.failures, waited=waited, part=self.jitter())
        if request is None and isinstance(error, Invalid):
            # No delivery can read it.
            decision = DeadLetter(reason_of(error))
        if isinstance(decision, Wait):
            return self._wait(received, row, decision, error)
        self.logger.error("message failed", exc_info=error)
        self.metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
        if request is not None:
            self._give_up(request, row, decision.reason)
        return _failures() if self._send_dead_letter(received, decision.reason) else _failures(received.id)

    def _wait(self, received: _Received, row: WorkRow | None, wait: Wait, error: Exception) -> dict[str, Any]:
        """Records that the message waits, and sends a copy, or leaves it to its queue if SQS takes none."""
        if wait.is_failure:
            self.logger.error("message failed", exc_info=error)
            self.metrics.add_metric("MessagesFailed", MetricUnit.Count, 1)
        else:
            self.logger.warning("work waits", reason=wait.reason, vendor=wait.vendor)
            name = "WorkOverBudget" if isinstance(error, OverBudget) else "WorkDeferred"
            self.metrics.add_metric(name, MetricUnit.Count, 1)
        seconds = round(wait.seconds)
        since = datetime.fromtimestamp(received.first_sent, UTC).isoformat()
        if row is not None:
            try:
                self.records.wait(
                    row, received.first_id, since=since, reason=wait.reason, vendor=wait.vendor, seconds=seconds
                )
            except SakuinError as unrecorded:
                self.logger.warning("the row does not say that its message waits", reason=str(unrecorded))
        attributes = {
            **received.attributes,
            ID_ATTRIBUTE: received.first_id,
            SENT_ATTRIBUTE: str(received.first_sent),
            WHY_ATTRIBUTE: wait.reason,
            FAILURES_ATTRIBUTE: str(received.failures + wait.is_failure),
        }
        try:
            self.queue.send_copy(received.body, attributes, delay_seconds=seconds, group=received.group)
        except Unavailable as unsent:
            self.logger.warning("message not sent again; its queue delivers it again", reason=str(unsent))
            return _failures(received.id)
        return _failures()

    def _give_up(self, request: object, row: WorkRow | None, reason: str) -> None:
        try:
            if row is not None:
                self.records.finish(row)
            self.work.give_up(request, reason)
        except SakuinError as error:
            self.logger.warning("the failure is not recorded", reason=str(error))

    def _send_dead_letter(self, received: _Received, reason: str) -> bool:
        """Returns whether the message may leave its queue."""
        tries = max(received.failures + 1, min(received.receives, MAX_FAILURES))
        try:
            self.queue.send_dead_letter(
                received.body, received.attributes, reason=json.dumps(stored(reason)), tries=tries, group=received.group
            )
        except Unavailable as error:
            self.logger.warning("the dead letter is not sent; the message is delivered again", reason=str(error))
            return False
        return True


def _failures(*ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": id} for id in ids]}


def _received(record: Mapping[str, Any]) -> _Received:
    named = record.get("messageAttributes") or {}
    attributes = {name: value.get("stringValue") or "" for name, value in named.items()}
    sent = float(record["attributes"]["SentTimestamp"]) / 1000
    return _Received(
        id=record["messageId"],
        body=record["body"],
        attributes=attributes,
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
        sent=sent,
        group=record["attributes"].get(GROUP_ATTRIBUTE, ""),
        first_id=attributes.get(ID_ATTRIBUTE) or record["messageId"],
        first_sent=float(attributes.get(SENT_ATTRIBUTE) or sent),
        failures=int(attributes.get(FAILURES_ATTRIBUTE) or 0),
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
