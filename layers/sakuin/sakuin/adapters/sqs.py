"""The material queue on Amazon SQS."""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

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

    def postpone(self, receipt_handle: str, *, seconds: int) -> None:
        with translated():
            self.client.change_message_visibility(
                QueueUrl=self.queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )

    def send_again(self, body: str, *, delay_seconds: int) -> None:
        """Another message that says the same, without the tries that the first one had."""
        with translated():
            self.client.send_message(QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=delay_seconds)


@contextmanager
def translated() -> Iterator[None]:
    """Failures of boto3 as ours."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise Unavailable("SQS did not take the request") from error
