"""A bucket on Amazon S3."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import NotFound, Unavailable, UnreadablePage


@dataclass(frozen=True, slots=True)
class BucketObject:
    """What a key of the bucket holds now: a version, or None where it was removed; since when."""

    key: str
    version_id: str | None
    modified: datetime


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an uploaded file. `version_id` is None in a bucket without versions."""

    body: bytes
    version_id: str | None


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """Part of a bucket's keys, in the order of their bytes; `upto` is where the next page begins (None at the end)."""

    items: Sequence[BucketObject]
    upto: str | None


class Bucket(Protocol):
    """The uploaded files, in versions; reads see every write that was acknowledged before."""

    @property
    def name(self) -> str:
        """What the bucket is called in its own events."""

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        """The current version, or the one named.

        A version that is not there raises `NotFound`; one larger than `max_bytes` raises `UnreadablePage`
        before its body travels.
        """

    def current_version(self, key: str) -> str | None:
        """The tag of what `key` holds now, None when it holds nothing. A delete marker is nothing.

        The tag is the version id, or the content's tag in a bucket without versions.
        """

    def keys(self, prefix: str) -> Sequence[str]:
        """All keys below `prefix`, in order. None there is not an error."""

    def held(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> ObjectPage:
        """What the keys below `prefix` hold now, by key, from after `after` on; removed ones are among them."""

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        """Stores a new current version and gives its version id."""

    def remove(self, key: str) -> str:
        """Puts a delete marker on `key` and gives the marker's version id. A key that is not there is not an error."""


_MISSING = {"404", "NoSuchKey", "NoSuchVersion", "NotFound", "MethodNotAllowed", "405"}


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A `MaterialBucket`. `client` is boto3's S3 client."""

    client: Any
    bucket: str

    @property
    def name(self) -> str:
        return self.bucket

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        version = {"VersionId": version_id} if version_id else {}
        with translate_errors(key):
            answer = self.client.get_object(Bucket=self.bucket, Key=key, **version)
            size = int(answer["ContentLength"])
            if size > max_bytes:
                answer["Body"].close()
                raise UnreadablePage(
                    f"The file has {size:,} bytes; the limit is {max_bytes:,} (page_bytes for a page). Split it."
                )
            return StoredObject(body=answer["Body"].read(), version_id=answer.get("VersionId"))

    def current_version(self, key: str) -> str | None:
        try:
            with translate_errors(key):
                answer = self.client.head_object(Bucket=self.bucket, Key=key)
        except NotFound:
            return None
        return str(answer.get("VersionId") or answer["ETag"])

    def keys(self, prefix: str) -> list[str]:
        with translate_errors(prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def held(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> ObjectPage:
        items: list[BucketObject] = []
        marker = {"KeyMarker": after} if after else {}
        while True:
            with translate_errors(prefix):
                page = self.client.list_object_versions(Bucket=self.bucket, Prefix=prefix, MaxKeys=1000, **marker)
            latest = [_held(one, gone=False) for one in page.get("Versions", ()) if one["IsLatest"]]
            latest += [_held(one, gone=True) for one in page.get("DeleteMarkers", ()) if one["IsLatest"]]
            items += sorted(latest, key=lambda one: one.key.encode())
            if len(items) > limit:
                return ObjectPage(items[:limit], items[limit - 1].key)
            if not page.get("IsTruncated"):
                return ObjectPage(items, None)
            marker = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        with translate_errors(key):
            answer = self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType=content_type)
        return str(answer.get("VersionId", ""))

    def remove(self, key: str) -> str:
        with translate_errors(key):
            answer = self.client.delete_object(Bucket=self.bucket, Key=key)
        return str(answer.get("VersionId", ""))


def _held(said: Mapping[str, Any], *, gone: bool) -> BucketObject:
    # A bucket without versions calls them all "null", and its events call them nothing: the content's tag tells.
    version = said["ETag"] if not gone and said["VersionId"] == "null" else said["VersionId"]
    return BucketObject(said["Key"], None if gone else version, said["LastModified"])


@contextmanager
def translate_errors(key: str) -> Iterator[None]:
    """S3's failures about `key` as ours."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _MISSING:
            raise NotFound(f"{key} is not in the bucket") from error
        raise Unavailable(f"S3 answered {code or 'an error'} for {key}", vendor="s3") from error
    except BotoCoreError as error:
        raise Unavailable(f"S3 did not answer for {key}", vendor="s3") from error
