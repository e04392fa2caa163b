"""SQS as it is: at least once, in any order, again after a failure, and after five tries with the dead letters."""

from dataclasses import dataclass, field
from typing import Any

# As every queue of the template says.
MAX_RECEIVE_COUNT = 5


@dataclass
class Message:
    """One message. `tries` counts how often it was received, a doubled one with its twin."""

    queue: str
    body: str
    tries: int = 0


@dataclass
class ModelledSqs:
    """boto3's SQS client for the product's adapters; a schedule takes messages where it likes."""

    waiting: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)

    def send_message(self, *, QueueUrl: str, MessageBody: str, **_: Any) -> None:
        self.waiting.append(Message(QueueUrl, MessageBody))

    def take(self, which: int, *, doubled: bool = False) -> Message:
        """Receives one of those that wait; `doubled` leaves its twin to be received too."""
        message = self.waiting[which]
        if not doubled:
            del self.waiting[which]
        message.tries += 1
        return message

    def failed(self, message: Message) -> None:
        """It comes back, or is put with the dead letters."""
        (self.dead if message.tries >= MAX_RECEIVE_COUNT else self.waiting).append(message)

    def redrive(self) -> None:
        """Sends the dead letters again, with new tries."""
        self.waiting += [Message(message.queue, message.body) for message in self.dead]
        self.dead.clear()


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
