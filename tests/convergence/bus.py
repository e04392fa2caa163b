"""EventBridge as it is: it takes a part of a request."""

from dataclasses import dataclass
from typing import Any

from tests.doubles.sqs import ModelledSqs


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
