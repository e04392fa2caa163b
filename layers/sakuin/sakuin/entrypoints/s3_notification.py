"""What S3 sends to a queue."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import unquote_plus

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

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
    """The bucket that an S3 record speaks of."""

    name: str


class S3Object(QueueMessage):
    """The object that an S3 record speaks of."""

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
    """What S3 sends to the queue."""

    records: list[S3Record] = Field(alias="Records")


def records_in_turn(message: dict[str, Any]) -> Iterator[S3Record]:
    """Those of a notification's records that can be read, then the `ValidationError` about those that cannot."""
    listed = message.get("Records")
    for record in listed if isinstance(listed, list) else ():
        with suppress(ValidationError):
            yield S3Record.model_validate(record)
    S3Notification.model_validate(message)
