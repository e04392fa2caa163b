"""A queue of the double of SQS with its worker."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.unfinished_work import UnfinishedWorkStore

from tests.doubles.sqs import Message, ModelledSqs, worked_on
from tests.events import Context


@dataclass
class WorkedQueue:
    """Delivers messages to a worker, and deletes those that are done."""

    work: QueueWork[Any]
    unfinished: UnfinishedWorkStore
    sqs: ModelledSqs = field(default_factory=ModelledSqs)
    name: str = "queue"
    context: Any = field(default_factory=Context)
    current: CurrentWork = field(default_factory=CurrentWork)

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.name, MessageBody=body)

    def deliver(self, body: str, *, receives: int = 1) -> bool:
        """Delivers a new message for the `receives`th time; returns whether it is done."""
        self.send(body)
        self.sqs.messages[-1].receives = receives - 1
        return self.hand_over(self.sqs.messages[-1])

    def deliver_waiting(self) -> Sequence[bool]:
        """Delivers each waiting message once."""
        return [self.hand_over(message) for message in self.sqs.waiting if message.queue == self.name]

    def hand_over(self, message: Message) -> bool:
        """Delivers a waiting message; returns whether it is done."""
        received = self.sqs.receive(self.sqs.waiting.index(message))
        logger = Logger(service=f"queue-{id(self)}", stream=io.StringIO())
        metrics = Metrics(namespace="Sakuin", service="test")
        queue = worked_on(self.sqs, self.name)
        handler = QueueHandler(queue, self.work, self.unfinished, logger, metrics, self.current)
        # As `instrument` does.
        self.current.milliseconds_left = self.context.get_remaining_time_in_millis
        done = not handler.handle({"Records": [received.as_record()]}, self.context)["batchItemFailures"]
        metrics.clear_metrics()
        if done:
            self.sqs.delete(received.id)
        return done
