"""The material queue on Amazon SQS."""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.domain.work import WORK_ATTRIBUTE
from sakuin.errors import Unavailable


@dataclass(frozen=True, slots=True)
class SqsWorkQueue:
    """A `WorkQueue`. `client` is boto3's SQS client."""

    client: Any
    queue_url: str

    def reapply(self, materials: Collection[str], *, reason: str, attempt: int = 1, delay_seconds: int = 0) -> None:
        # One message a request: the emulator asks for a permission to send batches that AWS does not know.
        for material in sorted(materials):
            asked = {"reapply": {"material": material, "reason": reason, "attempt": attempt}}
            body = json.dumps(asked, ensure_ascii=False)
            with translated():
                self.client.send_message(QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=delay_seconds)

    def look(self, keys: Collection[str], *, reason: str) -> None:
        for key in sorted(keys):
            body = json.dumps({"look": {"key": key, "reason": reason}}, ensure_ascii=False)
            with translated():
                self.client.send_message(QueueUrl=self.queue_url, MessageBody=body)

    def postpone(self, receipt_handle: str, *, seconds: int) -> None:
        with translated():
            self.client.change_message_visibility(
                QueueUrl=self.queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )

    def send_again(self, body: str, *, work_id: str, delay_seconds: int) -> None:
        """A copy of a message, without the tries that the first one had."""
        attributes = {WORK_ATTRIBUTE: {"DataType": "String", "StringValue": work_id}}
        with translated():
            self.client.send_message(
                QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=delay_seconds, MessageAttributes=attributes
            )


@contextmanager
def translated() -> Iterator[None]:
    """Failures of boto3 as ours."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise Unavailable("SQS did not take the request", vendor="sqs") from error
