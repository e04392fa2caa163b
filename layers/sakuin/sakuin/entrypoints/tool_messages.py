"""What may stand in the queues of Tables, and what it means."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.entrypoints.s3_notification import QueueMessage, records_in_turn
from sakuin.errors import Invalid

EVENTS = ("ToolCreated", "ToolUpdated", "ToolDeleted", "TableUpdated", "TableDeleted")
_UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_BODY_KEY = re.compile(r"tables/(?P<project>[0-9a-f-]{36})/(?P<table>[0-9a-f-]{36})/(?P<upload>[0-9]{1,18})\.json")


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
    """A walk that goes on, or begins again."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    generation: int | None = None
    skip: int = Field(default=0, ge=0)
    fingerprint: str | None = Field(default=None, description="The index over Tables that asks; null: all.")


class Heard(IndexAsked):
    """A walk that an event is the reason for: one for all events of the same changes."""


class EmbedAsked(QueueMessage):
    """A batch of chunks that is to be embedded and stored."""

    project_id: str = Field(pattern=_UUID)
    table_id: str = Field(pattern=_UUID)
    chunks: list[str] = Field(max_length=1000)
    fingerprint: str | None = Field(default=None, description="The index over Tables that the chunks belong to.")


class IndexMessage(QueueMessage):
    """Asks for a walk over a Table."""

    index: IndexAsked


class EmbedMessage(QueueMessage):
    """Asks for chunks to be embedded and stored."""

    embed: EmbedAsked


@dataclass(frozen=True, slots=True)
class BodyArrived:
    """An uploaded Table's body lies in the bucket."""

    project_id: str
    table_id: str
    upload: int
    key: str


def tool_work(body: str) -> list[IndexAsked | BodyArrived]:
    """What a message of the tool queue asks for; none for S3's test event and for objects that are no body."""
    return list(tool_work_in_turn(body))


def tool_work_in_turn(body: str) -> Iterator[IndexAsked | BodyArrived]:
    """The same one by one: a record of S3's that cannot be read raises `Invalid` after those beside it."""
    message = _object(body)
    try:
        if "Records" in message:
            arrived = (_arrived(unquote_plus(record.s3.object.key)) for record in records_in_turn(message))
            yield from (each for each in arrived if each is not None)
        elif "index" in message:
            yield IndexMessage.model_validate(message).index
        elif message.get("Event") != "s3:TestEvent":
            subject = ToolEvent.model_validate(message).detail
            yield Heard(project_id=subject.project_id, table_id=subject.table_id)
    except ValidationError as error:
        raise _not_taken(error) from error


def embed_work(body: str) -> EmbedAsked:
    """The batch that a message of the embed queue asks for."""
    try:
        return EmbedMessage.model_validate(_object(body)).embed
    except ValidationError as error:
        raise _not_taken(error) from error


def _arrived(key: str) -> BodyArrived | None:
    found = _BODY_KEY.fullmatch(key)
    return BodyArrived(found["project"], found["table"], int(found["upload"]), key) if found else None


def _object(body: str) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The message is not JSON") from error
    if not isinstance(message, dict):
        raise Invalid("The message is not a JSON object")
    return message


def _not_taken(error: ValidationError) -> Invalid:
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return Invalid(f"The message is not one this queue takes: {place}: {problem['msg']}")
