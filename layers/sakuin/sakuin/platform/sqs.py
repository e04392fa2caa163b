"""A queue on Amazon SQS."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Unavailable

LONGEST_DELAY_SECONDS = 900
_BATCH = 10
_COUNTED = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
)


@dataclass(frozen=True, slots=True)
class SqsQueue:
    """One queue. `client` is boto3's SQS client. Each method raises `Unavailable` if SQS does not take the request."""

    client: Any
    url: str

    def send(self, messages: Sequence[Mapping[str, Any]], *, delay_seconds: int = 0) -> None:
        """Sends messages in batches of ten; they arrive after `delay_seconds`, at most 900.

        If it raises, some may have been sent. No message is not an error.
        """
        for start in range(0, len(messages), _BATCH):
            entries = [
                {"Id": str(number), "MessageBody": _text(message), "DelaySeconds": delay_seconds}
                for number, message in enumerate(messages[start : start + _BATCH])
            ]
            with translate_errors():
                answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
            if answer.get("Failed"):
                raise Unavailable(f"SQS did not take {len(answer['Failed'])} of {len(entries)} messages", vendor="sqs")

    def send_copy(self, body: str, attributes: Mapping[str, str], *, delay_seconds: int) -> None:
        """Sends a message's body again as a new message, with these attributes, after at most 900 seconds."""
        named = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items() if value}
        with translate_errors():
            self.client.send_message(
                QueueUrl=self.url, MessageBody=body, MessageAttributes=named, DelaySeconds=delay_seconds
            )

    def hide(self, receipt_handle: str, *, seconds: int) -> None:
        """Makes a received message visible again after `seconds`, whatever the queue's own time says."""
        with translate_errors():
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )

    def is_empty(self) -> bool:
        """Whether no message waits, and no worker has one. An estimate: SQS counts approximately."""
        with translate_errors():
            answer = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(_COUNTED))
        return not any(int(answer["Attributes"][name]) for name in _COUNTED)


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translates boto3's failures into `Unavailable`."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise Unavailable("SQS did not take the request", vendor="sqs") from error
