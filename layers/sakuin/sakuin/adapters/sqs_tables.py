"""The queues of Tables on Amazon SQS."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.adapters.sqs import translated


@dataclass(frozen=True, slots=True)
class SqsTableQueues:
    """`TableQueues`. `client` is boto3's SQS client. `fingerprint` is the index that asks; empty: it is for all."""

    client: Any
    tool_queue_url: str
    embed_queue_url: str
    fingerprint: str = ""

    def index(self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0) -> None:
        asked = {"project_id": project_id, "table_id": table_id, "generation": generation, "skip": skip, **self._index}
        self._send(self.tool_queue_url, {"index": asked})

    def embed(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        for batch in batches:
            asked = {"project_id": project_id, "table_id": table_id, "chunks": list(batch), **self._index}
            self._send(self.embed_queue_url, {"embed": asked})

    @property
    def _index(self) -> dict[str, str]:
        return {"fingerprint": self.fingerprint} if self.fingerprint else {}

    def _send(self, queue_url: str, message: dict[str, Any]) -> None:
        with translated():
            self.client.send_message(QueueUrl=queue_url, MessageBody=json.dumps(message))
