"""The uploaded documents of Tables in S3, and the deletion of those that no Table needs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sakuin.errors import Invalid
from sakuin.platform.run_all import run_all
from sakuin.platform.s3 import BucketObject, S3Bucket, UploadTarget, translate_errors, upload_target
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.model import OrphanedFolder
from sakuin.texts.catalogue import coded

# The URL of an upload is valid for minutes, and a worker runs for minutes.
OF_THE_GONE = timedelta(days=1)
# A message that imports a document may wait as long, including the dead letter queue.
LEFT = timedelta(days=15)
_FOLDERS_A_MINUTE = 10
_DOCUMENTS_A_FOLDER = 100


@dataclass(frozen=True, slots=True)
class OrphanedUploads:
    """The folders of uploads that may have orphaned documents."""

    client: Client

    def folders_due(self, *, of_the_gone: timedelta, left: timedelta, limit: int) -> Sequence[OrphanedFolder]:
        """Returns folders of Tables deleted for `of_the_gone`, or replaced for `left`, the oldest first."""
        seconds = {"p_gone": int(of_the_gone.total_seconds()), "p_left": int(left.total_seconds())}
        rows = call(self.client, "orphaned_uploads", {**seconds, "p_limit": limit})
        return [OrphanedFolder(row["folder"], row["keep"], row["gone"]) for row in rows]

    def mark_removed(self, folder: OrphanedFolder, *, again: bool) -> None:
        """Records that a folder was processed. `again`: it has documents that are too young, and becomes due again."""
        arguments = {"p_folder": folder.folder, "p_keep": folder.current_key, "p_again": again}
        call(self.client, "record_upload_cleanup", arguments)


@dataclass(frozen=True, slots=True)
class DeleteOrphanedUploads:
    """Deletes orphaned uploads. Idempotent. The bucket keeps old versions of deleted documents for a while."""

    bodies: OrphanedUploads
    bucket: S3Bucket
    now: Callable[[], datetime]

    def __call__(self) -> int:
        """Returns how many documents were deleted."""
        folders = self.bodies.folders_due(of_the_gone=OF_THE_GONE, left=LEFT, limit=_FOLDERS_A_MINUTE)
        return sum(run_all(folders, self._delete_from))

    def _delete_from(self, folder: OrphanedFolder) -> int:
        removed, others = 0, 0
        for one in self._objects(folder.folder):
            if one.version_id is None or one.key == folder.current_key:
                continue
            others += 1
            if self._is_old(one, folder):
                self.bucket.remove(one.key)
                removed += 1
            if removed == _DOCUMENTS_A_FOLDER:
                # The next run continues.
                return removed
        self.bodies.mark_removed(folder, again=removed < others)
        return removed

    def _objects(self, folder: str) -> Iterator[BucketObject]:
        after: str | None = None
        while True:
            page = self.bucket.current_objects(folder, after=after, limit=1_000)
            yield from page.items
            if page.upto is None:
                return
            after = page.upto

    def _is_old(self, one: BucketObject, folder: OrphanedFolder) -> bool:
        return one.modified < self.now() - (OF_THE_GONE if folder.gone else LEFT)


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
                raise Invalid(coded("record.large_document", count=size, most=max_bytes))
            return bytes(answer["Body"].read())

    def write(self, key: str, body: bytes) -> None:
        """Stores a document."""
        with translate_errors(key):
            self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ContentType=_TYPE)
