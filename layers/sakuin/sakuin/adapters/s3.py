"""The materials bucket on Amazon S3."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.domain.reconciliation import HeldObject
from sakuin.errors import NotFound, Unavailable, UnreadablePage
from sakuin.ports.materials import HeldPage, StoredObject

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
        with translated(key):
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
            with translated(key):
                answer = self.client.head_object(Bucket=self.bucket, Key=key)
        except NotFound:
            return None
        return str(answer.get("VersionId") or answer["ETag"])

    def keys(self, prefix: str) -> list[str]:
        with translated(prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def held(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> HeldPage:
        items: list[HeldObject] = []
        marker = {"KeyMarker": after} if after else {}
        while True:
            with translated(prefix):
                page = self.client.list_object_versions(Bucket=self.bucket, Prefix=prefix, MaxKeys=1000, **marker)
            latest = [_held(one, gone=False) for one in page.get("Versions", ()) if one["IsLatest"]]
            latest += [_held(one, gone=True) for one in page.get("DeleteMarkers", ()) if one["IsLatest"]]
            items += sorted(latest, key=lambda one: one.key.encode())
            if len(items) > limit:
                return HeldPage(items[:limit], items[limit - 1].key)
            if not page.get("IsTruncated"):
                return HeldPage(items, None)
            marker = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        with translated(key):
            answer = self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType=content_type)
        return str(answer.get("VersionId", ""))

    def remove(self, key: str) -> str:
        with translated(key):
            answer = self.client.delete_object(Bucket=self.bucket, Key=key)
        return str(answer.get("VersionId", ""))


def _held(said: Mapping[str, Any], *, gone: bool) -> HeldObject:
    # A bucket without versions calls them all "null", and its events call them nothing: the content's tag tells.
    version = said["ETag"] if not gone and said["VersionId"] == "null" else said["VersionId"]
    return HeldObject(said["Key"], None if gone else version, said["LastModified"])


@contextmanager
def translated(key: str) -> Iterator[None]:
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
