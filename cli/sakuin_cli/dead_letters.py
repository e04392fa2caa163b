"""The dead letter queues on Amazon SQS, as a keeper reaches them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError
from sakuin.adapters.sqs import translated
from sakuin.adapters.sqs_work import attributes_of
from sakuin.adapters.vendor_calls import MESSAGE_ATTRIBUTE
from sakuin.domain.work import WORK_ATTRIBUTE, WorkQueueName
from sakuin.ports.work import DeadLetter

_HIDDEN_SECONDS = 30
_A_REQUEST = 10
# What EventBridge puts along with an event that it could not deliver.
_BUS_REASON, _BUS_TRIES = "ERROR_MESSAGE", "RETRY_ATTEMPTS"


@dataclass(frozen=True, slots=True)
class SqsDeadLetters:
    """`DeadLetters`. `client` is boto3's SQS client; `urls` and `dead_urls` are by the queues' names."""

    client: Any
    urls: Mapping[WorkQueueName, str]
    dead_urls: Mapping[WorkQueueName, str]

    def look(self, queue: WorkQueueName) -> Sequence[DeadLetter]:
        found: dict[str, DeadLetter] = {}
        while some := self._some(queue):
            new = [letter for letter in some if letter.id not in found]
            if not new:
                # There are so many that the first ones have come back.
                break
            found |= {letter.id: letter for letter in new}
        return sorted(found.values(), key=lambda letter: (letter.since, letter.id))

    def leave(self, letters: Sequence[DeadLetter]) -> None:
        for letter in letters:
            try:
                self.client.change_message_visibility(
                    QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle, VisibilityTimeout=0
                )
            except ClientError:
                # It is visible already, or gone.
                continue

    def send_again(self, letter: DeadLetter) -> None:
        attributes = attributes_of(letter.work_id, letter.correlation_id)
        with translated():
            self.client.send_message(
                QueueUrl=self.urls[letter.queue], MessageBody=letter.body, MessageAttributes=attributes
            )
            self.client.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

    def _some(self, queue: WorkQueueName) -> list[DeadLetter]:
        with translated():
            answer = self.client.receive_message(
                QueueUrl=self.dead_urls[queue],
                MaxNumberOfMessages=_A_REQUEST,
                VisibilityTimeout=_HIDDEN_SECONDS,
                # Without waiting SQS asks only some of its machines.
                WaitTimeSeconds=1,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        return [_letter(queue, message) for message in answer.get("Messages", ())]


def _letter(queue: WorkQueueName, message: Mapping[str, Any]) -> DeadLetter:
    system = message.get("Attributes", {})
    said = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    return DeadLetter(
        id=message["MessageId"],
        work_id=said.get(WORK_ATTRIBUTE) or message["MessageId"],
        queue=queue,
        body=message["Body"],
        tries=int(said.get(_BUS_TRIES) or system.get("ApproximateReceiveCount", 1)),
        since=float(system.get("SentTimestamp", 0)) / 1000,
        said=said.get(_BUS_REASON) or None,
        correlation_id=said.get(MESSAGE_ATTRIBUTE, ""),
        handle=message["ReceiptHandle"],
    )
