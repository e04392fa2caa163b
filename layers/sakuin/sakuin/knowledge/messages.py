"""The messages of the material queue: what they ask for, and the queue that sends them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.knowledge.model import Source, padded
from sakuin.knowledge.postgres import LearnsRecords
from sakuin.platform.s3 import QueueMessage, S3Record, only_record, unknown_message
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.unfinished_work import WorkSubject


@dataclass(frozen=True, slots=True)
class ObjectWritten:
    """An object was stored."""

    source: Source

    @property
    def subject(self) -> WorkSubject:
        return _file(self.source.key, self.source.sequencer)


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    """An object was deleted, or one of its versions was. `marker`: S3 wrote a delete marker, or has no versions."""

    source: Source
    marker: bool

    @property
    def subject(self) -> WorkSubject:
        return _file(self.source.key, self.source.sequencer)


def _file(key: str, sequencer: str = "") -> WorkSubject:
    return WorkSubject("file", key, sequencer=sequencer, finishes_itself=True)


class ReindexMaterial(QueueMessage):
    """A request to read a material and index it again."""

    material: str = Field(min_length=1)
    index_version: str | None = Field(
        default=None,
        description="The index version that it is embedded for. null: the live one, whose worker asks for the others.",
    )
    reason: str = Field(default="asked", description="Why, for the log.")

    @property
    def subject(self) -> WorkSubject:
        """The material, in the index version."""
        return WorkSubject("material", self.material, self.index_version or "")


class RecheckKey(QueueMessage):
    """A request to compare a key of the bucket with the index, because its event may be lost."""

    key: str = Field(min_length=1, description="As it is in the bucket, not URL-encoded.")
    reason: str = Field(default="asked", description="Why, for the log.")

    @property
    def subject(self) -> WorkSubject:
        """The file."""
        return _file(self.key)


class AskLearns(QueueMessage):
    """A request to ask a language model about some explanations of a material.

    `pending_learns` in Postgres says which: a message for a page that has changed is about its present version, and
    one for a page that is deleted or complete requests nothing.
    """

    material: str = Field(min_length=1)

    @property
    def subject(self) -> None:
        """None: the row of its page in `pending_learns` brings it back."""


BucketEvent = ObjectWritten | ObjectRemoved | ReindexMaterial | RecheckKey | AskLearns


class S3TestEvent(QueueMessage):
    """The message that S3 sends once, when the notification is configured."""

    event: str = Field(alias="Event", pattern="^s3:TestEvent$")


class RecheckMessage(QueueMessage):
    """Asks to compare a key of the bucket with the index."""

    recheck: RecheckKey


class LearnsMessage(QueueMessage):
    """Asks for `learns` of a language model."""

    learns: AskLearns


class ReindexMessage(QueueMessage):
    """Asks to read and index a material again."""

    reindex: ReindexMaterial


def read_event(message: Mapping[str, Any]) -> BucketEvent | None:
    """Returns what a message asks for, None for the test event of S3. Raises `Invalid` for any other message."""
    try:
        if "Records" in message:
            return _event_of_record(only_record(message))
        if "reindex" in message:
            return ReindexMessage.model_validate(message).reindex
        if "learns" in message:
            return LearnsMessage.model_validate(message).learns
        if "recheck" in message:
            return RecheckMessage.model_validate(message).recheck
        S3TestEvent.model_validate(message)
    except ValidationError as error:
        raise unknown_message(error) from error
    return None


def _event_of_record(record: S3Record) -> BucketEvent:
    stored = record.s3.object
    source = Source(
        bucket=record.s3.bucket.name,
        # This is the only place that decodes a key.
        key=unquote_plus(stored.key),
        version_id=stored.version_id,
        sequencer=padded(stored.sequencer),
        etag=stored.etag,
    )
    name = record.event_name.removeprefix("s3:")
    if name.startswith("ObjectCreated:"):
        return ObjectWritten(replace(source, uploaded_at=record.event_time.isoformat() if record.event_time else None))
    return ObjectRemoved(source, marker=name == "ObjectRemoved:DeleteMarkerCreated" or stored.version_id is None)


@dataclass(frozen=True, slots=True)
class MaterialQueue:
    """Requests work on materials. Delivery is at least once; a request for nothing sends nothing."""

    queue: SqsQueue

    def reindex(self, materials: Collection[str], *, reason: str) -> None:
        """Asks to read each material and index it again."""
        self.queue.send([{"reindex": {"material": material, "reason": reason}} for material in sorted(materials)])

    def index_for(self, material: str, index_versions: Collection[str]) -> None:
        """Asks to index a material again for each of these index versions, which have no vectors of it yet."""
        request = {"material": material, "reason": "an index version lacks its vectors"}
        self.queue.send([{"reindex": {**request, "index_version": version}} for version in sorted(index_versions)])

    def ask_learns(self, materials: Collection[str]) -> None:
        """Asks for `learns` of a language model for each material."""
        self.queue.send([{"learns": {"material": material}} for material in sorted(materials)])

    def recheck(self, keys: Collection[str], *, reason: str) -> None:
        """Asks to compare each key of the bucket with the index."""
        self.queue.send([{"recheck": {"key": key, "reason": reason}} for key in sorted(keys)])


def send_pending_learns(records: LearnsRecords, queue: MaterialQueue) -> int:
    """Sends messages for pages whose `learns` are due, as many as may be worked on at once. Returns their number.

    A message that is lost is sent again when its claim ends.
    """
    materials = records.claim()
    queue.ask_learns(materials)
    return len(materials)
