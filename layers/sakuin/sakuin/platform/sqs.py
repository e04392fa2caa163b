"""A queue on Amazon SQS."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import Unavailable
from sakuin.texts.catalogue import coded

# SQS hands the group of a message out among its system attributes.
GROUP_ATTRIBUTE = "MessageGroupId"
# What EventBridge adds to an event that it could not deliver, and a worker to a message that it gives up.
REASON_ATTRIBUTE, TRIES_ATTRIBUTE = "ERROR_MESSAGE", "RETRY_ATTEMPTS"
_BATCH = 10
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible")
_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class SqsQueue:
    """One queue. `client` is boto3's SQS client. A request that SQS does not accept is `Unavailable`.

    A message may have a group, its tenant: while one group has more than its share of the workers, SQS delivers the
    messages of the others first (fair queues). Without a group a message is a group of its own. `name` and
    `dead_letters_url` are for the worker of the queue.
    """

    client: Any
    url: str
    name: str = ""
    dead_letters_url: str = ""

    def send(self, messages: Sequence[Mapping[str, Any]], *, group: str = "") -> None:
        """Sends messages in batches of ten. May be empty.

        If it raises, some messages may have been sent.
        """
        for start in range(0, len(messages), _BATCH):
            entries = [
                {"Id": str(number), "MessageBody": json.dumps(message, ensure_ascii=False), **_in_group(group)}
                for number, message in enumerate(messages[start : start + _BATCH])
            ]
            with translate_errors():
                answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
            if answer.get("Failed"):
                raise Unavailable(
                    f"SQS did not accept {len(answer['Failed'])} of {len(entries)} messages", vendor="sqs"
                )

    def send_copy(self, body: str, attributes: Mapping[str, str], *, delay_seconds: int, group: str = "") -> None:
        """Sends a message's body again as a new message, visible after `delay_seconds` (at most 900)."""
        self._send_copy(self.url, body, attributes, delay_seconds, group)

    def send_dead_letter(
        self, body: str, attributes: Mapping[str, str], *, reason: str, tries: int, group: str = ""
    ) -> None:
        """Sends a copy of a message to the dead letters, with the reason and the number of its deliveries."""
        named = {**attributes, REASON_ATTRIBUTE: reason, TRIES_ATTRIBUTE: str(tries)}
        self._send_copy(self.dead_letters_url, body, named, 0, group)

    def _send_copy(self, url: str, body: str, attributes: Mapping[str, str], delay: int, group: str) -> None:
        # SQS refuses control characters.
        texts = {
            name: "".join(char if char.isprintable() else " " for char in value[:_LONGEST_TEXT])
            for name, value in attributes.items()
        }
        named = {name: {"DataType": "String", "StringValue": text} for name, text in texts.items() if text}
        with translate_errors():
            self.client.send_message(
                QueueUrl=url, MessageBody=body, MessageAttributes=named, DelaySeconds=delay, **_in_group(group)
            )

    def hide(self, receipt_handle: str, *, seconds: int) -> None:
        """Makes a received message visible again after `seconds` instead of the queue's visibility timeout."""
        with translate_errors():
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )

    def counts(self) -> "MessageCounts":
        """Returns the number of messages. SQS counts approximately."""
        with translate_errors():
            answer = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(_COUNTS))
        visible, delayed, in_flight = (int(answer["Attributes"][name]) for name in _COUNTS)
        return MessageCounts(visible + delayed, in_flight)

    def is_empty(self) -> bool:
        """Returns whether the queue has no message, visible or not."""
        return not self.counts().all


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """The messages of a queue that wait for a worker, and those in flight: received and not finished yet."""

    waiting: int
    in_flight: int

    @property
    def all(self) -> int:
        return self.waiting + self.in_flight


def _in_group(group: str) -> dict[str, str]:
    return {GROUP_ATTRIBUTE: group} if group else {}


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translates boto3's errors into `Unavailable`."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise Unavailable(coded("vendor.sqs_silent"), vendor="sqs") from error
