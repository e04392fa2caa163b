"""What may stand in the material queue, and what it means."""

import json
from urllib.parse import unquote_plus

from pydantic import Field, ValidationError

from sakuin.domain.material_version import Source, padded
from sakuin.entrypoints.s3_notification import QueueMessage, S3Notification, S3Record
from sakuin.errors import Invalid
from sakuin.services.follow_bucket import AskedAgain, Change, Removed, Written


class S3TestEvent(QueueMessage):
    """What S3 sends once when the notification is set up."""

    event: str = Field(alias="Event", pattern="^s3:TestEvent$")


class Reapply(QueueMessage):
    """A material that is to be read and applied again."""

    material: str = Field(min_length=1)
    reason: str = Field(default="asked", description="Why, for the log.")
    attempt: int = Field(default=1, ge=1, description="How often a late language model was asked.")


class ReapplyMessage(QueueMessage):
    """Asks for a material to be read and applied again."""

    reapply: Reapply


def changes(body: str) -> list[Change]:
    """The changes that a message speaks of; none for S3's test event.

    A body that is none of the three messages raises `Invalid`.
    """
    try:
        message = json.loads(body)
        if not isinstance(message, dict):
            raise Invalid("The message is not a JSON object")
        if "Records" in message:
            return [_change(record) for record in S3Notification.model_validate(message).records]
        if "reapply" in message:
            asked = ReapplyMessage.model_validate(message).reapply
            return [AskedAgain(asked.material, asked.reason, asked.attempt)]
        S3TestEvent.model_validate(message)
        return []
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
