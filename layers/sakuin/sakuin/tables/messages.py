"""The messages of the queues of Tables: what they ask for, and the queues that send them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.platform.s3 import QueueMessage, only_record, unknown_message
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.waiting import WorkRow

EVENTS = ("ToolCreated", "ToolUpdated", "ToolDeleted", "TableUpdated", "TableDeleted")

_UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_DOCUMENT_KEY = re.compile(r"tables/(?P<project>[0-9a-f-]{36})/(?P<table>[0-9a-f-]{36})/(?P<upload>[0-9]{1,18})\.json")


class EventSubject(QueueMessage):
    """What an event is about. It has only ids, because workers read the current state."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    tool_id: str | None = Field(default=None, pattern=_UUID)
    request_id: str | None = Field(default=None, description="The request that made the change, for the logs.")


class ToolEvent(QueueMessage):
    """An event of the bus, as EventBridge delivers it to the queue."""

    event: str = Field(alias="detail-type", pattern="^(" + "|".join(EVENTS) + ")$")
    detail: EventSubject


class ScanRequest(QueueMessage):
    """A request to scan a Table, or to continue a scan."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    generation: int | None = None
    skip: int = Field(default=0, ge=0)
    index_version: str | None = Field(
        default=None, description="The index version. null: the live one, whose worker asks for the others."
    )
    for_event: bool = Field(default=False, description="Whether one scan is enough for all events of a generation.")

    @property
    def row(self) -> WorkRow:
        """The row of the Table."""
        return WorkRow("table", self.table_id, self.table_id, self.index_version or "")


class EmbedRequest(QueueMessage):
    """A batch of chunks to embed and store."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    chunks: list[str] = Field(min_length=1, max_length=1000)
    index_version: str | None = Field(default=None, description="The index version of the chunks; null: the live one.")

    @property
    def row(self) -> WorkRow:
        """The row of the first chunk."""
        return WorkRow("chunks", min(self.chunks), self.table_id, self.index_version or "")


class IndexMessage(QueueMessage):
    """Asks to scan a Table."""

    index: ScanRequest


class EmbedMessage(QueueMessage):
    """Asks to embed and store chunks."""

    embed: EmbedRequest


@dataclass(frozen=True, slots=True)
class DocumentUploaded:
    """The document of a Table was uploaded to `key`."""

    project_id: str
    table_id: str
    upload: int
    key: str

    @property
    def row(self) -> WorkRow:
        """The row of the Table."""
        return WorkRow("table", self.table_id, self.table_id)


def tool_message(message: Mapping[str, Any]) -> ScanRequest | DocumentUploaded | None:
    """Returns what a message of the tool queue asks for. Raises `Invalid` for an unknown message.

    It is None for the test event of S3, and for objects that are not documents of Tables.
    """
    try:
        if "Records" in message:
            return _uploaded(unquote_plus(only_record(message).s3.object.key))
        if "index" in message:
            return IndexMessage.model_validate(message).index
        if message.get("Event") == "s3:TestEvent":
            return None
        subject = ToolEvent.model_validate(message).detail
        return ScanRequest(project_id=subject.project_id, table_id=subject.table_id, for_event=True)
    except ValidationError as error:
        raise unknown_message(error) from error


def embed_message(message: Mapping[str, Any]) -> EmbedRequest:
    """Returns what a message of the embed queue asks for. Raises `Invalid` for an unknown message."""
    try:
        return EmbedMessage.model_validate(message).embed
    except ValidationError as error:
        raise unknown_message(error) from error


def _request(project_id: str, table_id: str, version: str) -> dict[str, Any]:
    return {"project_id": project_id, "table_id": table_id, **({"index_version": version} if version else {})}


def _uploaded(key: str) -> DocumentUploaded | None:
    match = _DOCUMENT_KEY.fullmatch(key)
    if match is None:
        return None
    return DocumentUploaded(match["project"], match["table"], int(match["upload"]), key)


@dataclass(frozen=True, slots=True)
class TableQueues:
    """Requests work on Tables. Delivery is at least once. The group of a message is its project.

    `index_version` is the one that the work is for; "" is the live one, whose worker asks for the others.
    """

    tool_queue: SqsQueue
    embed_queue: SqsQueue
    index_version: str = ""

    def index(
        self, project_id: str, table_id: str, *, generation: int | None = None, skip: int = 0, for_event: bool = False
    ) -> None:
        """Asks to scan a Table, or with `generation` to continue the scan of that generation after `skip` strings."""
        table = _request(project_id, table_id, self.index_version)
        request: dict[str, Any] = {**table, "generation": generation, "skip": skip}
        if for_event:
            request["for_event"] = True
        self.tool_queue.send([{"index": request}], group=project_id)

    def embed_chunks(self, project_id: str, table_id: str, batches: Sequence[Sequence[str]]) -> None:
        """Asks to embed chunks, in one message for each batch."""
        table = _request(project_id, table_id, self.index_version)
        self.embed_queue.send([{"embed": {**table, "chunks": list(batch)}} for batch in batches], group=project_id)
