"""SQS as it is: at least once, in any order, again after a failure, and after five tries with the dead letters.

And as an emulator that is killed: it forgets.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from sakuin.domain.work import MAX_TRIES, WORK_ATTRIBUTE

DEAD_LETTERS = " dead letters"


@dataclass
class Message:
    """One message. `tries` counts how often it was received, a doubled one with its twin.

    `work_id` says whose copy it is. A `forgotten` one is with the worker that has it, and nowhere else.
    """

    id: str
    queue: str
    body: str
    attributes: dict[str, Any]
    sent_at: float
    tries: int = 0
    forgotten: bool = False

    @property
    def work_id(self) -> str:
        said: dict[str, str] = self.attributes.get(WORK_ATTRIBUTE, {})
        return said.get("StringValue", self.id)

    def as_record(self) -> dict[str, Any]:
        """As Lambda hands it to a function."""
        said = {name: {"stringValue": value["StringValue"]} for name, value in self.attributes.items()}
        return {
            "messageId": self.id,
            "receiptHandle": self.id,
            "body": self.body,
            "attributes": {
                "ApproximateReceiveCount": str(self.tries),
                "SentTimestamp": str(round(self.sent_at * 1000)),
            },
            "messageAttributes": said,
            "eventSource": "aws:sqs",
        }


@dataclass
class ModelledSqs:
    """boto3's SQS client for the product's adapters; a schedule takes messages where it likes."""

    waiting: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)

    def send_message(
        self, *, QueueUrl: str, MessageBody: str, MessageAttributes: dict[str, Any] | None = None, **_: Any
    ) -> None:
        queue = QueueUrl.removesuffix(DEAD_LETTERS)
        message = Message(f"m{len(self.sent)}", queue, MessageBody, MessageAttributes or {}, time.time())
        self.sent.append(message)
        (self.dead if QueueUrl.endswith(DEAD_LETTERS) else self.waiting).append(message)

    def change_message_visibility(self, **_: Any) -> None:
        """A schedule says when a message comes."""

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        line = sum(message.queue == QueueUrl for message in self.waiting)
        return {"Attributes": {name: str(line * (not number)) for number, name in enumerate(AttributeNames)}}

    def take(self, which: int, *, doubled: bool = False) -> Message:
        """Receives one of those that wait; `doubled` leaves its twin to be received too."""
        message = self.waiting[which]
        if not doubled:
            del self.waiting[which]
        message.tries += 1
        return message

    def failed(self, message: Message) -> None:
        """It comes back, or is put with the dead letters."""
        if not message.forgotten:
            (self.dead if message.tries >= MAX_TRIES else self.waiting).append(message)

    def forget(self, message: Message) -> None:
        """It lies in no queue any more, and does not come back."""
        message.forgotten = True
        self.waiting = [other for other in self.waiting if other is not message]

    def redrive(self) -> None:
        """Sends the dead letters again, with new tries, under the names of their rows."""
        letters, self.dead = self.dead, []
        for letter in letters:
            named = {WORK_ATTRIBUTE: {"DataType": "String", "StringValue": letter.work_id}}
            self.send_message(
                QueueUrl=letter.queue, MessageBody=letter.body, MessageAttributes=letter.attributes | named
            )

    def passes(self, seconds: float) -> None:
        """So much time passes over all that was sent."""
        for message in self.sent:
            message.sent_at -= seconds


@dataclass
class ModelledBus:
    """boto3's client of EventBridge: what it takes goes to `queue`, as the product's rule has it.

    `refused` says which entries of the next request it does not take.
    """

    sqs: ModelledSqs
    queue: str
    refused: frozenset[int] = frozenset()

    def put_events(self, *, Entries: list[dict[str, str]]) -> dict[str, Any]:
        refused, self.refused = self.refused, frozenset()
        answer = []
        for number, entry in enumerate(Entries):
            if number in refused:
                answer.append({"ErrorCode": "ThrottlingException"})
            else:
                body = f'{{"detail-type": "{entry["DetailType"]}", "detail": {entry["Detail"]}}}'
                self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)
                answer.append({"EventId": "1"})
        return {"FailedEntryCount": len(refused), "Entries": answer}
