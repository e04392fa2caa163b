"""The three queues of work and their dead letters on Amazon SQS, as `maintain` writes to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sakuin.adapters.sqs import translated
from sakuin.adapters.vendor_calls import MESSAGE_ATTRIBUTE, sendable
from sakuin.domain.work import WORK_ATTRIBUTE, DueWork, WorkQueueName

_IN_LINE = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")


@dataclass(frozen=True, slots=True)
class SqsWorkQueues:
    """`WorkQueues`. `client` is boto3's SQS client; `urls` and `dead_urls` are by the queues' names."""

    client: Any
    urls: Mapping[WorkQueueName, str]
    dead_urls: Mapping[WorkQueueName, str]

    def send(self, work: DueWork) -> None:
        self._send(self.urls[work.queue], work)

    def bury(self, work: DueWork) -> None:
        self._send(self.dead_urls[work.queue], work)

    def lines_are_empty(self, *queues: WorkQueueName) -> bool:
        for queue in queues:
            with translated():
                said = self.client.get_queue_attributes(QueueUrl=self.urls[queue], AttributeNames=list(_IN_LINE))
            if any(int(said["Attributes"][name]) for name in _IN_LINE):
                return False
        return True

    def _send(self, url: str, work: DueWork) -> None:
        attributes = attributes_of(work.id, work.correlation_id)
        with translated():
            self.client.send_message(QueueUrl=url, MessageBody=work.body, MessageAttributes=attributes)


def attributes_of(work_id: str, correlation_id: str) -> dict[str, dict[str, str]]:
    """What goes along with a copy of a message: whose copy it is, and whose work."""
    named = {WORK_ATTRIBUTE: work_id, MESSAGE_ATTRIBUTE: sendable(correlation_id)}
    return {name: {"DataType": "String", "StringValue": value} for name, value in named.items() if value}
