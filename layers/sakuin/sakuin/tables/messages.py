"""The messages of the queues of Tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.platform.s3 import QueueMessage, only_record, unknown_message
from sakuin.platform.unfinished_work import WorkSubject

EVENTS = ("ToolCreated", "ToolUpdated", "ToolDeleted", "TableUpdated", "TableDeleted")

_UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

_DOCUMENT_KEY = re.compile(r"tables/(?P<project>[0-9a-f-]{36})/(?P<table>[0-9a-f-]{36})/(?P<upload>[0-9]{1,18})\.json")


class Subject(QueueMessage):
    """What an event is about. Nothing but ids: workers read the present state."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    tool_id: str | None = Field(default=None, pattern=_UUID)
    request_id: str | None = Field(default=None, description="The request that made the change, for the logs.")


class ToolEvent(QueueMessage):
    """An event of the bus, as EventBridge delivers it to the queue."""

    event: str = Field(alias="detail-type", pattern="^(" + "|".join(EVENTS) + ")$")
    detail: Subject


class IndexAsked(QueueMessage):
    """A scan that continues, or begins again."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    generation: int | None = None
    skip: int = Field(default=0, ge=0)
    fingerprint: str | None = Field(default=None, description="The index over Tables that asks; null: all.")
    resumed: bool = Field(default=False, description="Whether it waited.")


class ScanForEvent(IndexAsked):
    """A scan because of an event: one scan is enough for all events of the same changes."""


class EmbedAsked(QueueMessage):
    """A batch of chunks that is to be embedded and stored."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    chunks: list[str] = Field(max_length=1000)
    fingerprint: str | None = Field(default=None, description="The index over Tables that the chunks belong to.")
    resumed: bool = Field(default=False, description="Whether it probes a vendor that the Table waits for.")


class ImportAsked(QueueMessage):
    """An uploaded document to import."""

    key: str


class IndexMessage(QueueMessage):
    """Asks for a scan of a Table."""

    index: IndexAsked


class ImportMessage(QueueMessage):
    """Asks to import an uploaded document that waited."""

    asked: ImportAsked = Field(alias="import")


class EmbedMessage(QueueMessage):
    """Asks for chunks to be embedded and stored."""

    embed: EmbedAsked


@dataclass(frozen=True, slots=True)
class DocumentUploaded:
    """The document of a Table was uploaded to `key`. `resumed`: its import waited."""

    project_id: str
    table_id: str
    upload: int
    key: str
    resumed: bool = False


def tool_message(message: Mapping[str, Any]) -> IndexAsked | DocumentUploaded | None:
    """What a message of the tool queue asks for; None for S3's test event and for objects that are no document."""
    try:
        if "Records" in message:
            return _uploaded(unquote_plus(only_record(message).s3.object.key))
        if "index" in message:
            return IndexMessage.model_validate(message).index
        if "import" in message:
            return _uploaded(ImportMessage.model_validate(message).asked.key, resumed=True)
        if message.get("Event") == "s3:TestEvent":
            return None
        subject = ToolEvent.model_validate(message).detail
        return ScanForEvent(project_id=subject.project_id, table_id=subject.table_id)
    except ValidationError as error:
        raise unknown_message(error) from error


def embed_message(message: Mapping[str, Any]) -> EmbedAsked:
    """The batch that a message of the embed queue asks for."""
    try:
        return EmbedMessage.model_validate(message).embed
    except ValidationError as error:
        raise unknown_message(error) from error


def subject_of_request(asked: IndexAsked | EmbedAsked | DocumentUploaded) -> WorkSubject:
    """Returns what a message of these queues is about: a Table in one index or in all, or an uploaded document."""
    if isinstance(asked, DocumentUploaded):
        return WorkSubject("upload", asked.key)
    return WorkSubject("table", asked.table_id, asked.fingerprint or "")


def _uploaded(key: str, *, resumed: bool = False) -> DocumentUploaded | None:
    found = _DOCUMENT_KEY.fullmatch(key)
    if found is None:
        return None
    return DocumentUploaded(found["project"], found["table"], int(found["upload"]), key, resumed)
