"""What may stand in the material queue, and what it means."""

import json
from collections.abc import Iterator
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.domain.material_version import Source, padded
from sakuin.entrypoints.s3_notification import QueueMessage, S3Record, records_in_turn
from sakuin.errors import Invalid
from sakuin.services.follow_bucket import AskedAgain, Change, LookedAt, Removed, Written


class S3TestEvent(QueueMessage):
    """What S3 sends once when the notification is set up."""

    event: str = Field(alias="Event", pattern="^s3:TestEvent$")


class Reapply(QueueMessage):
    """A material that is to be read and applied again."""

    material: str = Field(min_length=1)
    reason: str = Field(default="asked", description="Why, for the log.")
    attempt: int = Field(default=1, ge=1, description="How often a late language model was asked.")


class Look(QueueMessage):
    """A key that is to be looked at as it is now."""

    key: str = Field(min_length=1, description="As it is in the bucket, not URL-encoded.")
    reason: str = Field(default="asked", description="Why, for the log.")


class LookMessage(QueueMessage):
    """Asks for the index to be brought to what the bucket holds under a key now, because an event may be missing."""

    look: Look


class ReapplyMessage(QueueMessage):
    """Asks for a material to be read and applied again."""

    reapply: Reapply


def changes(body: str) -> list[Change]:
    """The changes that a message speaks of; none for S3's test event.

    A body that is none of the four messages raises `Invalid`.
    """
    return list(changes_in_turn(body))


def changes_in_turn(body: str) -> Iterator[Change]:
    """The same one by one: a record of S3's that cannot be read raises `Invalid` after those beside it."""
    try:
        message = json.loads(body)
        if not isinstance(message, dict):
            raise Invalid("The message is not a JSON object")
        if "Records" in message:
            yield from map(_change, records_in_turn(message))
        elif "reapply" in message:
            asked = ReapplyMessage.model_validate(message).reapply
            yield AskedAgain(asked.material, asked.reason, asked.attempt)
        elif "look" in message:
            look = LookMessage.model_validate(message).look
            yield LookedAt(look.key, look.reason)
        else:
            S3TestEvent.model_validate(message)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise Invalid(f"The message is not one this queue takes: {place}: {problem['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise Invalid("The message is not JSON") from error


def _change(record: S3Record) -> Change:
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
        return Written(source)
    return Removed(source, marker=name == "ObjectRemoved:DeleteMarkerCreated" or stored.version_id is None)
