"""The uploaded documents of Tables in S3."""

from dataclasses import dataclass
from typing import Any

from sakuin.errors import Invalid
from sakuin.platform.s3 import UploadTarget, translate_errors, upload_target

_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class S3TableDocuments:
    """The documents of Tables that are too large for a request, by key. `client` is boto3's S3 client."""

    client: Any
    bucket: str

    def upload_target(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        """Returns a presigned URL for one upload of exactly `size` bytes within `seconds`."""
        # All three headers are signed: S3 rejects another length or type, and a second upload to the same key.
        headers = {"Content-Type": _TYPE, "Content-Length": str(size), "If-None-Match": "*"}
        return upload_target(self.client, self.bucket, key, seconds=seconds, headers=headers)

    def read(self, key: str, *, max_bytes: int) -> bytes:
        """Returns a document. Raises `NotFound`, and `Invalid` before the download if it exceeds `max_bytes`."""
        with translate_errors(key):
            answer = self.client.get_object(Bucket=self.bucket, Key=key)
            size = int(answer["ContentLength"])
            if size > max_bytes:
                answer["Body"].close()
                raise Invalid(f"The document has {size:,} bytes; the limit is {max_bytes:,} (table_bytes)")
            return bytes(answer["Body"].read())

    def write(self, key: str, body: bytes) -> None:
        """Stores a document."""
        with translate_errors(key):
            self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType=_TYPE)
