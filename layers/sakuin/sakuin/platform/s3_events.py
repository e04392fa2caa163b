"""What S3 sends to a queue."""

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import unquote_plus

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sakuin.errors import Invalid

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _nameable(key: str) -> str:
    if _NO_TEXT.search(unquote_plus(key)):
        raise ValueError("no database keeps U+0000 or half a character: give the object another key")
    return key


class QueueMessage(BaseModel):
    """A part of a message."""

    # AWS adds members without notice; what is not named here is not looked at.
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class S3Bucket(QueueMessage):
    """The bucket of an S3 record."""

    name: str


class S3Object(QueueMessage):
    """The object of an S3 record."""

    key: Annotated[str, AfterValidator(_nameable)] = Field(
        description="URL-encoded as in a form: every Japanese key is."
    )
    sequencer: str = Field(pattern="^[0-9A-Fa-f]{1,64}$", description="Orders the events of one key.")
    version_id: str | None = Field(default=None, alias="versionId", description="Absent without versions.")


class S3Entity(QueueMessage):
    """Where something happened."""

    bucket: S3Bucket
    object: S3Object


class S3Record(QueueMessage):
    """One thing that happened in the bucket."""

    event_name: str = Field(
        alias="eventName", pattern="^(s3:)?Object(Created|Removed):", examples=["ObjectCreated:Put"]
    )
    s3: S3Entity


class S3Notification(QueueMessage):
    """What S3 sends to the queue: one record."""

    records: list[S3Record] = Field(alias="Records")


def only_record(message: Mapping[str, Any]) -> S3Record:
    """The record of a notification. S3 sends one in each message; more are `Invalid`, so that none is dropped."""
    notification = S3Notification.model_validate(message)
    if len(notification.records) != 1:
        raise Invalid(f"The message holds {len(notification.records)} records of S3 instead of one")
    return notification.records[0]


def unknown_message(error: ValidationError) -> Invalid:
    """The error about a message that its queue does not take."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return Invalid(f"The message is not one that this queue takes: {place}: {problem['msg']}")
