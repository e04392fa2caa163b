"""Deletion of uploaded documents that no Table needs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sakuin.platform.run_all import run_all
from sakuin.platform.s3 import BucketObject, S3Bucket
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.model import OrphanedFolder


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


# The URL of an upload is valid for minutes, and a worker runs for minutes.
OF_THE_GONE = timedelta(days=1)

# A message that imports a document may wait as long, including the dead letter queue.
LEFT = timedelta(days=15)

_FOLDERS_A_MINUTE = 10
_DOCUMENTS_A_FOLDER = 100


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
