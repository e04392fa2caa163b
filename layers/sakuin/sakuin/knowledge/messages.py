"""The messages of the material queue: what they ask for, and the queue that sends them; and the events about pages."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import unquote_plus

from pydantic import AfterValidator, Field, ValidationError

from sakuin.knowledge.model import Source, padded
from sakuin.platform.aws import BusEvent, EventBridgeBus
from sakuin.platform.s3 import QueueMessage, S3Record, only_record, unknown_message
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import restored, stored

# Of the events' schema, in docs/reference/events.md.
_EVENT_VERSION = 1
_TYPES = {"ready": "MaterialIndexed", "failed": "MaterialFailed", "deleted": "MaterialRemoved"}
# A worker sends the event of its change at once. After so many seconds maintenance does.
_WAIT_SECONDS = 60
_AT_ONCE = 100
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ObjectWritten:
    """An object was stored."""

    source: Source


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    """An object was deleted, or one of its versions was. `marker`: S3 wrote a delete marker, or has no versions."""

    source: Source
    marker: bool


# Why a message was sent, for people: `{code, values}`.
MessageReason = Annotated[
    Any, AfterValidator(restored), Field(description="Why, for people: `{code, values}`, or a text.")
]


class ReindexMaterial(QueueMessage):
    """A request to read a material and index it again."""

    material: str = Field(min_length=1)
    index_version: str | None = Field(
        default=None,
        description="The index version that it is embedded for. null: the live one, whose worker asks for the others.",
    )
    reason: MessageReason = None


class RecheckKey(QueueMessage):
    """A request to compare a key of the bucket with the index, because its event may be lost."""

    key: str = Field(min_length=1, description="As it is in the bucket, not URL-encoded.")
    reason: MessageReason = None


class AskLearns(QueueMessage):
    """A request to ask a language model about some explanations of a material.

    `pending_learns` in Postgres says which: a message for a page that has changed is about its present version, and
    one for a page that is deleted or complete requests nothing.
    """

    material: str = Field(min_length=1)


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
        self.queue.send(
            [{"reindex": {"material": material, "reason": stored(reason)}} for material in sorted(materials)]
        )

    def index_for(self, material: str, index_versions: Collection[str]) -> None:
        """Asks to index a material again for each of these index versions, which have no vectors of it yet."""
        request = {"material": material, "reason": stored("an index version lacks its vectors")}
        self.queue.send([{"reindex": {**request, "index_version": version}} for version in sorted(index_versions)])

    def ask_learns(self, materials: Collection[str]) -> None:
        """Asks for `learns` of a language model for each material."""
        self.queue.send([{"learns": {"material": material}} for material in sorted(materials)])

    def recheck(self, keys: Collection[str], *, reason: str) -> None:
        """Asks to compare each key of the bucket with the index."""
        self.queue.send([{"recheck": {"key": key, "reason": stored(reason)}} for key in sorted(keys)])


@dataclass(frozen=True, slots=True)
class Announcements:
    """Sends events about pages, each at least once: the row of a page has the state that the last one said."""

    client: Client
    bus: Callable[[], EventBridgeBus]
    clock: Callable[[], float] = time.monotonic

    def send(self, pages: Sequence[Mapping[str, Any]]) -> int:
        """Sends the events of pages (`announcement_of` in SQL). Returns how many the bus accepted."""
        accepted = self.bus().put([_event(page) for page in pages])
        states = {page["material"]: page["state"] for page, sent in zip(pages, accepted, strict=True) if sent}
        if states:
            call(self.client, "mark_announced", {"p_states": states})
        return len(states)

    def send_missing(self) -> int:
        """Sends the events that no worker sent, for some seconds. Rejected ones are sent again by a later call."""
        sent, after, until = 0, "", self.clock() + _SECONDS
        while self.clock() < until:
            arguments = {"p_after": after, "p_seconds": _WAIT_SECONDS, "p_limit": _AT_ONCE}
            pages = call(self.client, "unannounced_pages", arguments)
            sent += self.send(pages)
            if len(pages) < _AT_ONCE:
                break
            after = pages[-1]["material"]
        return sent


def _event(page: Mapping[str, Any]) -> BusEvent:
    detail = {"version": _EVENT_VERSION, "material": page["material"], "generation": page["generation"]}
    if page["status"] != "deleted":
        detail |= {"version_id": page["version_id"], "explanations": page["explanations"]}
    if page["status"] == "failed":
        # The values may quote the page.
        detail |= {"searchable_version_id": page["searchable_version_id"], "reason": page["error"]["code"]}
    return BusEvent(_TYPES[page["status"]], detail)
