"""The materials bucket on Amazon S3."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sakuin.errors import NotFound, Unavailable, UnreadablePage
from sakuin.ports.materials import StoredObject

_MISSING = {"404", "NoSuchKey", "NoSuchVersion", "NotFound", "MethodNotAllowed", "405"}


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A `MaterialBucket`. `client` is boto3's S3 client."""

    client: Any
    bucket: str

    def read(self, key: str, *, version_id: str | None = None, max_bytes: int) -> StoredObject:
        version = {"VersionId": version_id} if version_id else {}
        with translated(key):
            answer = self.client.get_object(Bucket=self.bucket, Key=key, **version)
            size = int(answer["ContentLength"])
            if size > max_bytes:
                answer["Body"].close()
                raise UnreadablePage(f"The file has {size:,} bytes; {max_bytes:,} are allowed. Split it.")
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

    def write(self, key: str, body: bytes, *, content_type: str) -> str:
        with translated(key):
            answer = self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType=content_type)
        return str(answer.get("VersionId", ""))

    def remove(self, key: str) -> str:
        with translated(key):
            answer = self.client.delete_object(Bucket=self.bucket, Key=key)
        return str(answer.get("VersionId", ""))


@contextmanager
def translated(key: str) -> Iterator[None]:
    """S3's failures about `key` as ours."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _MISSING:
            raise NotFound(f"{key} is not in the bucket") from error
        raise Unavailable(f"S3 answered {code or 'an error'} for {key}") from error
    except BotoCoreError as error:
        raise Unavailable(f"S3 did not answer for {key}") from error
