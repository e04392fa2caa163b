"""A double of SQS: at least once, in any order, hidden for a while once received, a dead letter after 1,000 receives.

It also forgets messages, as an emulator that is killed does. `tests/platform/test_sqs.py` compares it with moto.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from sakuin.errors import Conflict, OverBudget, Unavailable
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.retry import MAX_RECEIVES, WorkersDied
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords
from sakuin.texts.catalogue import restored

# As the template sets it for each queue.
VISIBILITY_SECONDS = 60
LONGEST_VISIBILITY_SECONDS = 43_200
LONGEST_DELAY_SECONDS = 900
RETENTION_SECONDS = 14 * 86_400
_MOST_ENTRIES = 10
_MOST_ATTRIBUTES = 10
_DEAD_LETTERS = " dead letters"


@dataclass
class Silence:
    """A logger and metrics without output. `surprises` are failures that no vendor, race or budget explains."""

    surprises: list[Exception] = field(default_factory=list)

    def error(self, _message: str, *, exc_info: Exception | None = None, **_fields: object) -> None:
        if exc_info and not isinstance(exc_info, Unavailable | Conflict | OverBudget | WorkersDied):
            self.surprises.append(exc_info)

    def __getattr__(self, name: str) -> Any:
        return lambda *_arguments, **_named: None


def handler_of(
    sqs: Any, queue: str, work: QueueWork[Any], records: WorkRecords, log: Any = None, **parts: Any
) -> QueueHandler:
    """Returns the handler of a queue, as `wiring` does, by the clock of the queues."""
    log, clock = log or Silence(), lambda: float(sqs.now)
    return QueueHandler(
        worked_on(sqs, queue), work, records, log, log, **{"current": CurrentWork(), "clock": clock, **parts}
    )


def worked_on(sqs: Any, queue: str) -> SqsQueue:
    """Returns the queue of a worker, which knows its dead letters."""
    return SqsQueue(sqs, queue, queue, queue + _DEAD_LETTERS)


@dataclass
class Message:
    """One message. `handle` is the newest receipt handle, `visible_at` the moment from which it can be received."""

    id: str
    queue: str
    body: str
    attributes: dict[str, Any]
    sent_at: float
    visible_at: float
    receives: int = 0
    handle: str = ""
    group: str = ""

    @property
    def why(self) -> str:
        """Why a worker gave it up."""
        return str(restored(json.loads(self.attributes["ERROR_MESSAGE"]["StringValue"])))

    def as_received(self) -> dict[str, Any]:
        """As boto3 hands it to a caller."""
        return {
            "MessageId": self.id,
            "ReceiptHandle": self.handle,
            "Body": self.body,
            "Attributes": self._system_attributes(),
            "MessageAttributes": self.attributes,
        }

    def as_record(self) -> dict[str, Any]:
        """As Lambda hands it to a function."""
        named = {name: {"stringValue": value["StringValue"]} for name, value in self.attributes.items()}
        return {
            "messageId": self.id,
            "receiptHandle": self.handle,
            "body": self.body,
            "attributes": self._system_attributes(),
            "messageAttributes": named,
            "eventSource": "aws:sqs",
        }

    def _system_attributes(self) -> dict[str, str]:
        return {
            "ApproximateReceiveCount": str(self.receives),
            "SentTimestamp": str(round(self.sent_at * 1000)),
            **({"MessageGroupId": self.group} if self.group else {}),
        }


@dataclass
class ModelledSqs:
    """boto3's SQS client for the product; the caller receives and deletes messages as Lambda does.

    `now` is its clock, in seconds since 1970. It begins with the database's.
    """

    now: float = field(default_factory=time.time)
    messages: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    count: int = 0

    # ---------------------------------------------------------------- what the product calls

    def send_message(
        self,
        *,
        QueueUrl: str,
        MessageBody: str,
        MessageAttributes: dict[str, Any] | None = None,
        DelaySeconds: int = 0,
        MessageGroupId: str = "",
    ) -> dict[str, str]:
        if not 0 <= DelaySeconds <= LONGEST_DELAY_SECONDS:
            raise refusal("InvalidParameterValue", "SendMessage")
        given = MessageAttributes or {}
        if len(given) > _MOST_ATTRIBUTES or not all(value["StringValue"] for value in given.values()):
            raise refusal("InvalidParameterValue", "SendMessage")
        self.count += 1
        is_dead = QueueUrl.endswith(_DEAD_LETTERS)
        visible_at = self.now + DelaySeconds
        message = Message(
            f"m{self.count}",
            QueueUrl.removesuffix(_DEAD_LETTERS),
            MessageBody,
            given,
            self.now,
            visible_at,
            group=MessageGroupId,
        )
        (self.dead if is_dead else self.messages).append(message)
        return {"MessageId": message.id}

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if len(Entries) > _MOST_ENTRIES:
            raise refusal("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "SendMessageBatch")
        taken, failed = [], []
        for entry in Entries:
            try:
                self.send_message(
                    QueueUrl=QueueUrl,
                    MessageBody=entry["MessageBody"],
                    MessageAttributes=entry.get("MessageAttributes"),
                    DelaySeconds=entry.get("DelaySeconds", 0),
                    MessageGroupId=entry.get("MessageGroupId", ""),
                )
                taken.append({"Id": entry["Id"]})
            except ClientError as error:
                failed.append({"Id": entry["Id"], "Code": error.response["Error"]["Code"]})
        return {"Successful": taken} | ({"Failed": failed} if failed else {})

    def receive_message(self, *, QueueUrl: str, MaxNumberOfMessages: int = 1, **_names: Any) -> dict[str, Any]:
        found = [message for message in self.waiting if message.queue == QueueUrl][:MaxNumberOfMessages]
        for message in found:
            self._received(message)
        return {"Messages": [message.as_received() for message in found]} if found else {}

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: str) -> None:
        for message in self.messages:
            if message.handle == ReceiptHandle:
                self.delete(message.id)

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:
        if not 0 <= VisibilityTimeout <= LONGEST_VISIBILITY_SECONDS:
            raise refusal("InvalidParameterValue", "ChangeMessageVisibility")
        for message in self.messages:
            if message.handle == ReceiptHandle and message.visible_at > self.now:
                message.visible_at = self.now + VisibilityTimeout
                return
        # It was deleted, received again, or its time is over.
        raise refusal("MessageNotInflight", "ChangeMessageVisibility")

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        line = [message for message in self.messages if message.queue == QueueUrl]
        counts = {
            "ApproximateNumberOfMessages": sum(message.visible_at <= self.now for message in line),
            "ApproximateNumberOfMessagesDelayed": sum(
                message.visible_at > self.now and not message.handle for message in line
            ),
            "ApproximateNumberOfMessagesNotVisible": sum(
                message.visible_at > self.now and bool(message.handle) for message in line
            ),
        }
        return {"Attributes": {name: str(counts[name]) for name in AttributeNames}}

    # ---------------------------------------------------------------- what Lambda and time do

    @property
    def waiting(self) -> list[Message]:
        """The messages that can be received now. One that was received too often is moved to the dead letters."""
        late = [message for message in self.messages if self._is_due(message) and message.receives >= MAX_RECEIVES]
        for message in late:
            self.messages.remove(message)
            self.dead.append(message)
        return [message for message in self.messages if self._is_due(message)]

    def receive(self, which: int, *, doubled: bool = False) -> Message:
        """Receives one of those that wait; `doubled` lets it be received once more at once, which SQS may do."""
        return self._received(self.waiting[which], doubled=doubled)

    def delete(self, id: str) -> None:
        """Deletes a message whose work is done; one that is gone is not an error."""
        self.messages = [message for message in self.messages if message.id != id]

    def forget(self, message: Message) -> None:
        """Loses a message for good."""
        self.delete(message.id)

    def redrive(self) -> None:
        """Sends the dead letters again as new messages."""
        letters, self.dead = self.dead, []
        for letter in letters:
            self.send_message(
                QueueUrl=letter.queue,
                MessageBody=letter.body,
                MessageAttributes=letter.attributes,
                MessageGroupId=letter.group,
            )

    def passes(self, seconds: float) -> None:
        """Moves the clock; deletes what is older than the retention period."""
        self.now += seconds
        self.messages = list(self._kept(self.messages))
        self.dead = list(self._kept(self.dead))

    def until_next(self) -> None:
        """Moves the clock until a hidden message can be received, if there is one."""
        if self.messages and not self.waiting:
            self.now = max(self.now, min(message.visible_at for message in self.messages))

    def _received(self, message: Message, *, doubled: bool = False) -> Message:
        message.receives += 1
        message.handle = f"{message.id}-{message.receives}"
        message.visible_at = self.now if doubled else self.now + VISIBILITY_SECONDS
        return message

    def _kept(self, messages: Sequence[Message]) -> Iterator[Message]:
        return (message for message in messages if self.now - message.sent_at <= RETENTION_SECONDS)

    def _is_due(self, message: Message) -> bool:
        return message.visible_at <= self.now


def refusal(code: str, operation: str) -> ClientError:
    """What boto3 raises for a request that SQS refuses."""
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)
