"""What S3 sends to a queue."""

from pydantic import BaseModel, ConfigDict, Field


class QueueMessage(BaseModel):
    """A part of a message."""

    # AWS adds members without notice; what is not named here is not looked at.
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class S3Bucket(QueueMessage):
    """The bucket that an S3 record speaks of."""

    name: str


class S3Object(QueueMessage):
    """The object that an S3 record speaks of."""

    key: str = Field(description="URL-encoded as in a form: every Japanese key is.")
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
