"""A bucket on Amazon S3, and the event notifications that it sends to a queue."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import unquote_plus

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from sakuin.errors import Invalid, NotFound, Unavailable, UnreadablePage
from sakuin.texts.catalogue import coded

_MISSING = {"404", "NoSuchKey", "NoSuchVersion", "NotFound", "MethodNotAllowed", "405"}
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class BucketObject:
    """The current version of a key, None if it was removed, and when that was written."""

    key: str
    version_id: str | None
    modified: datetime


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an uploaded file. `version_id` is None in a bucket without versions."""

    body: bytes
    version_id: str | None
    etag: str = ""


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """Part of a bucket's keys in the order of their bytes; `upto` is the `after` of the next page, None at the end."""

    items: Sequence[BucketObject]
    upto: str | None


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """A presigned URL for one PUT, and the headers to send with it."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A versioned bucket. Reads see every acknowledged write. `client` is boto3's S3 client."""

    client: Any
    name: str

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        """Returns the current version, or the given one; `NotFound` if it does not exist.

        A body of more than `max_bytes` is `UnreadablePage` and not transferred. An ETag of `current_version` gives the
        object if it still has it, else `Unavailable`.
        """
        version = {"IfMatch" if version_id.startswith('"') else "VersionId": version_id} if version_id else {}
        with translate_errors(key):
            answer = self.client.get_object(Bucket=self.name, Key=key, **version)
            size = int(answer["ContentLength"])
            if size > max_bytes:
                answer["Body"].close()
                raise UnreadablePage(coded("page.large", size=size, most=max_bytes))
            return StoredObject(answer["Body"].read(), answer.get("VersionId"), answer["ETag"].strip('"'))

    def current(self, key: str) -> BucketObject | None:
        """Returns the current version, with the ETag as its id in a bucket without versions; None if there is none."""
        try:
            with translate_errors(key):
                answer = self.client.head_object(Bucket=self.name, Key=key)
        except NotFound:
            return None
        return BucketObject(key, str(answer.get("VersionId") or answer["ETag"]), answer["LastModified"])

    def current_version(self, key: str) -> str | None:
        """Returns the id of the current version; None if there is none."""
        version = self.current(key)
        return version.version_id if version else None

    def keys(self, prefix: str) -> list[str]:
        """Returns all keys below `prefix`, in order. May be empty."""
        with translate_errors(prefix or self.name):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
            return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def etags_page(self, prefix: str, *, after: str, limit: int) -> tuple[dict[str, str], str | None]:
        """Returns the ETags of at most `limit` keys after `after`, and the `after` of the next page; None: the end.

        An ETag is the MD5 of the bytes, unless the object is encrypted with a KMS key or was uploaded in parts.
        """
        with translate_errors(prefix or self.name):
            page = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        tags = {item["Key"]: item["ETag"].strip('"') for item in page.get("Contents", ())}
        return tags, next(reversed(tags)) if page.get("IsTruncated") and tags else None

    def current_objects(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> ObjectPage:
        """Returns the current versions below `prefix`, and the removed keys, by key, after the key `after`."""
        items: list[BucketObject] = []
        marker = {"KeyMarker": after} if after else {}
        while True:
            with translate_errors(prefix):
                page = self.client.list_object_versions(Bucket=self.name, Prefix=prefix, MaxKeys=1000, **marker)
            latest = [_object(one, removed=False) for one in page.get("Versions", ()) if one["IsLatest"]]
            latest += [_object(one, removed=True) for one in page.get("DeleteMarkers", ()) if one["IsLatest"]]
            items += sorted(latest, key=lambda one: one.key.encode())
            if len(items) > limit:
                return ObjectPage(items[:limit], items[limit - 1].key)
            if not page.get("IsTruncated"):
                return ObjectPage(items, None)
            marker = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Stores a new current version and returns its version id."""
        with translate_errors(key):
            answer = self.client.put_object(Bucket=self.name, Key=key, Body=body, ContentType=content_type)
        return str(answer.get("VersionId", ""))

    def upload_target(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> UploadTarget:
        """Returns a presigned URL for a PUT within `seconds`. S3 rejects it with other `headers` than these."""
        parameters: dict[str, Any] = {name.replace("-", ""): value for name, value in headers.items()}
        parameters |= {"ContentLength": int(headers["Content-Length"]), "Bucket": self.name, "Key": key}
        with translate_errors(key):
            url = self.client.generate_presigned_url("put_object", Params=parameters, ExpiresIn=seconds)
        return UploadTarget(str(url), headers)

    def remove(self, key: str) -> str:
        """Writes a delete marker and returns its version id. A missing key is not an error."""
        with translate_errors(key):
            answer = self.client.delete_object(Bucket=self.name, Key=key)
        return str(answer.get("VersionId", ""))


def _object(listed: Mapping[str, Any], *, removed: bool) -> BucketObject:
    # In a bucket without versions each version id is "null", and events have none: the ETag replaces it.
    version = listed["ETag"] if not removed and listed["VersionId"] == "null" else listed["VersionId"]
    return BucketObject(listed["Key"], None if removed else version, listed["LastModified"])


@contextmanager
def translate_errors(key: str) -> Iterator[None]:
    """Translates boto3's errors about `key` into ours."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _MISSING:
            raise NotFound(coded("vendor.not_in_bucket", key=key)) from error
        raise Unavailable(coded("vendor.s3_answered", code=code or "an error", key=key), vendor="s3") from error
    except BotoCoreError as error:
        raise Unavailable(coded("vendor.s3_silent", key=key), vendor="s3") from error


def _storable(key: str) -> str:
    if _NO_TEXT.search(unquote_plus(key)):
        raise ValueError("the key has U+0000 or a lone surrogate, which Postgres cannot store: rename the object")
    return key


class QueueMessage(BaseModel):
    """A part of a queue's message. Unknown members are ignored, because AWS adds members without notice."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class S3EventBucket(QueueMessage):
    """The bucket of an S3 record."""

    name: str


class S3EventObject(QueueMessage):
    """The object of an S3 record."""

    key: Annotated[str, AfterValidator(_storable)] = Field(
        description="URL-encoded as in a form; every Japanese key is encoded."
    )
    sequencer: str = Field(pattern="^[0-9A-Fa-f]{1,64}$", description="Orders the events of one key.")
    version_id: str | None = Field(default=None, alias="versionId", description="Absent without versions.")
    etag: str | None = Field(default=None, alias="eTag", description="Other bytes have another one.")


class S3Entity(QueueMessage):
    """The bucket and the object of an S3 record."""

    bucket: S3EventBucket
    object: S3EventObject


class S3Record(QueueMessage):
    """One event of the bucket."""

    event_name: str = Field(
        alias="eventName", pattern="^(s3:)?Object(Created|Removed):", examples=["ObjectCreated:Put"]
    )
    event_time: AwareDatetime | None = Field(default=None, alias="eventTime", description="When S3 stored the object.")
    s3: S3Entity


class S3Notification(QueueMessage):
    """The message that S3 sends to a queue: one record."""

    records: list[S3Record] = Field(alias="Records")


def only_record(message: Mapping[str, Any]) -> S3Record:
    """Returns the record of a notification; `Invalid` for several: S3 sends one, and none may be ignored."""
    notification = S3Notification.model_validate(message)
    if len(notification.records) != 1:
        raise Invalid(f"The message has {len(notification.records)} records of S3 instead of one")
    return notification.records[0]


def unknown_message(error: ValidationError) -> Invalid:
    """Returns the error about a message that its queue does not accept."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return Invalid(f"The message is not one that this queue accepts: {place}: {problem['msg']}")
