"""The deletion of uploaded documents that no Table needs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sakuin.platform.run_all import run_all
from sakuin.platform.s3 import BucketObject, S3Bucket
from sakuin.platform.supabase.client import Client, call

# The URL of an upload is valid for minutes, and a worker runs for minutes.
OF_THE_GONE = timedelta(days=1)
# A message that imports a document may wait as long, including the dead letter queue.
LEFT = timedelta(days=15)
_FOLDERS_A_MINUTE = 10
_DOCUMENTS_A_FOLDER = 100


@dataclass(frozen=True, slots=True)
class OrphanedFolder:
    """The folder of a Table's uploads. `keep` is the key of its current document; `gone`: the Table was deleted."""

    folder: str
    keep: str | None
    gone: bool


@dataclass(frozen=True, slots=True)
class DeleteOrphanedUploads:
    """Deletes orphaned uploads. Idempotent. The bucket keeps old versions of deleted documents for a while."""

    client: Client
    bucket: S3Bucket
    now: Callable[[], datetime]

    def __call__(self) -> int:
        """Deletes from folders of Tables that were deleted or replaced long ago; returns how many documents."""
        seconds = {"p_gone": int(OF_THE_GONE.total_seconds()), "p_left": int(LEFT.total_seconds())}
        rows = call(self.client, "orphaned_uploads", {**seconds, "p_limit": _FOLDERS_A_MINUTE})
        return sum(run_all([OrphanedFolder(**row) for row in rows], self._delete_from))

    def mark_removed(self, folder: OrphanedFolder, *, again: bool) -> None:
        """Records that a folder was processed. `again`: it has documents that are too young, and becomes due again."""
        arguments = {"p_folder": folder.folder, "p_keep": folder.keep, "p_again": again}
        call(self.client, "record_upload_cleanup", arguments)

    def _delete_from(self, folder: OrphanedFolder) -> int:
        removed, others = 0, 0
        for one in self._objects(folder.folder):
            if one.version_id is None or one.key == folder.keep:
                continue
            others += 1
            if self._is_old(one, folder):
                self.bucket.remove(one.key)
                removed += 1
            if removed == _DOCUMENTS_A_FOLDER:
                # The next run continues.
                return removed
        self.mark_removed(folder, again=removed < others)
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
