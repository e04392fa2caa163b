"""The messages of the material queue, and the events of the bucket that they report or ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.knowledge.model import Source, padded
from sakuin.platform.s3 import QueueMessage, S3Record, only_record, unknown_message
from sakuin.platform.unfinished_work import WorkSubject


@dataclass(frozen=True, slots=True)
class ObjectWritten:
    """An object was stored."""

    source: Source


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    """An object was deleted (`marker`, or a bucket without versions), or one of its versions was."""

    source: Source
    marker: bool


@dataclass(frozen=True, slots=True)
class ReindexMaterial:
    """A request to read a material and index it again. `resumed`: it waited before."""

    material: str
    reason: str
    attempt: int = 1
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class RecheckKey:
    """A request to bring the index in line with what the bucket holds under a key, since an event may be missing.

    `version_id`, `sequencer` (padded; "" if none is known) and `removed` are those of the newest event known of it.
    """

    key: str
    reason: str
    version_id: str | None = None
    sequencer: str = ""
    removed: bool = False
    resumed: bool = False


BucketEvent = ObjectWritten | ObjectRemoved | ReindexMaterial | RecheckKey


class S3TestEvent(QueueMessage):
    """What S3 sends once when the notification is set up."""

    event: str = Field(alias="Event", pattern="^s3:TestEvent$")


class Reindex(QueueMessage):
    """A material to read and index again."""

    material: str = Field(min_length=1)
    reason: str = Field(default="asked", description="Why, for the log.")
    attempt: int = Field(default=1, ge=1, description="How often a late language model was asked.")
    resumed: bool = Field(default=False, description="Whether it waited.")


class Recheck(QueueMessage):
    """A key to bring the index in line with, as it is now in the bucket."""

    key: str = Field(min_length=1, description="As it is in the bucket, not URL-encoded.")
    reason: str = Field(default="asked", description="Why, for the log.")
    version_id: str | None = Field(default=None, description="Of the newest event known of the key.")
    sequencer: str = Field(default="", description="Of that event, padded.")
    removed: bool = Field(default=False, description="Whether that event removed the object.")
    resumed: bool = Field(default=False, description="Whether it waited.")


class RecheckMessage(QueueMessage):
    """Asks to bring the index in line with what the bucket holds under a key now, since an event may be missing."""

    recheck: Recheck


class ReindexMessage(QueueMessage):
    """Asks to read and index a material again."""

    reindex: Reindex


def read_event(message: Mapping[str, Any]) -> BucketEvent | None:
    """Reads what a message asks for; None for S3's test event. Any other message is `Invalid`."""
    try:
        if "Records" in message:
            return _of_record(only_record(message))
        if "reindex" in message:
            reindex = ReindexMessage.model_validate(message).reindex
            return ReindexMaterial(reindex.material, reindex.reason, reindex.attempt, resumed=reindex.resumed)
        if "recheck" in message:
            recheck = RecheckMessage.model_validate(message).recheck
            return RecheckKey(
                recheck.key,
                recheck.reason,
                version_id=recheck.version_id,
                sequencer=recheck.sequencer,
                removed=recheck.removed,
                resumed=recheck.resumed,
            )
        S3TestEvent.model_validate(message)
    except ValidationError as error:
        raise unknown_message(error) from error
    return None


def subject_of_event(event: BucketEvent) -> WorkSubject:
    """Returns what an event of the bucket is about: a file, or a material that is indexed again."""
    if isinstance(event, ReindexMaterial):
        return WorkSubject("material", event.material)
    if isinstance(event, RecheckKey):
        return WorkSubject(
            "file", event.key, version_id=event.version_id, sequencer=event.sequencer, removed=event.removed
        )
    source = event.source
    removed = isinstance(event, ObjectRemoved) and event.marker
    return WorkSubject("file", source.key, version_id=source.version_id, sequencer=source.sequencer, removed=removed)


def _of_record(record: S3Record) -> BucketEvent:
    stored = record.s3.object
    source = Source(
        bucket=record.s3.bucket.name,
        # Decoded here and nowhere else.
        key=unquote_plus(stored.key),
        version_id=stored.version_id,
        sequencer=padded(stored.sequencer),
    )
    name = record.event_name.removeprefix("s3:")
    if name.startswith("ObjectCreated:"):
        return ObjectWritten(source)
    return ObjectRemoved(source, marker=name == "ObjectRemoved:DeleteMarkerCreated" or stored.version_id is None)
