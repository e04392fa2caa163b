"""A queue of the double of SQS with its worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.platform.queue_handler import QueueWork
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.waiting import WorkRecords

from tests.doubles.sqs import Message, ModelledSqs, handler_of
from tests.events import Context


class Killed(BaseException):
    """The worker is gone."""


@dataclass
class WorkedQueue:
    """Delivers messages to a worker, and deletes those that are done."""

    work: QueueWork[Any]
    records: WorkRecords
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    name: str = "queue"
    context: Any = field(default_factory=Context)
    current: CurrentWork = field(default_factory=CurrentWork)

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.name, MessageBody=body)

    def deliver(self, body: str, *, failures: int = 0) -> bool:
        """Delivers a message whose work has failed so often; returns whether it is done."""
        attributes = {"failures": {"DataType": "String", "StringValue": str(failures)}}
        self.sqs.send_message(QueueUrl=self.name, MessageBody=body, MessageAttributes=attributes)
        return self.hand_over(self.sqs.messages[-1])

    def deliver_waiting(self) -> Sequence[bool]:
        """Delivers each waiting message once."""
        return [self.hand_over(message) for message in self.sqs.waiting if message.queue == self.name]

    def hand_over(self, message: Message) -> bool:
        """Delivers a waiting message; returns whether it is done."""
        received = self.sqs.receive(self.sqs.waiting.index(message))
        parts = {"current": self.current, "jitter": lambda: 1.0}
        handler = handler_of(self.sqs, self.name, self.work, self.records, **parts)
        # As `instrument` does.
        self.current.milliseconds_left = self.context.get_remaining_time_in_millis
        done = not handler.handle({"Records": [received.as_record()]}, self.context)["batchItemFailures"]
        if done:
            self.sqs.delete(received.id)
        return done
