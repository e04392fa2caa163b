"""Queues of materials and of Tables whose messages are kept in lists."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.knowledge.messages import MaterialQueue
from sakuin.platform.sqs import SqsQueue
from sakuin.texts.catalogue import restored


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to index a material again, and why."""

    material: str
    reason: str


@dataclass
class MessageList:
    """boto3's client of SQS, as far as sending goes. `sent` has each body with its delay."""

    sent: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    taken: int = 0

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
        self.sent += [(json.loads(entry["MessageBody"]), 0) for entry in Entries]
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def send_message(self, *, MessageBody: str, DelaySeconds: int = 0, **_names: Any) -> dict[str, Any]:
        self.sent.append((json.loads(MessageBody), DelaySeconds))
        return {"MessageId": "1"}


@dataclass(frozen=True)
class MemoryQueue(MaterialQueue):
    """The product's queue. `asked` and `rechecks` (key and reason) are everything that was ever sent."""

    queue: SqsQueue = field(default_factory=lambda: SqsQueue(MessageList(), "materials"))

    @property
    def asked(self) -> list[Asked]:
        """The requests to index a material again."""
        found = [body["reindex"] for body, _ in self._messages.sent if "reindex" in body]
        return [Asked(one["material"], restored(one["reason"])) for one in found]

    @property
    def rechecks(self) -> list[tuple[str, str]]:
        """The requests to compare a key with the bucket: key and reason."""
        found = [body["recheck"] for body, _ in self._messages.sent if "recheck" in body]
        return [(one["key"], restored(one["reason"])) for one in found]

    def take_messages(self) -> list[str]:
        """Returns the bodies sent since the last time; delays have passed."""
        messages = self._messages
        new, messages.taken = messages.sent[messages.taken :], len(messages.sent)
        return [json.dumps(body) for body, _ in new]

    @property
    def _messages(self) -> MessageList:
        client: MessageList = self.queue.client
        return client


@dataclass
class MemoryQueues:
    """`TableQueues` whose messages wait until a test delivers them."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    index_version: str = ""

    def index(
        self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0, **_how: bool
    ) -> None:
        self.asked.append(("index", project_id, table_id, generation, skip))

    def embed_chunks(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        self.asked += [("embed", project_id, table_id, tuple(batch)) for batch in batches]

    @property
    def tool_queue(self) -> "MemoryQueues":
        return self

    embed_queue = tool_queue

    def is_empty(self) -> bool:
        return not self.asked
