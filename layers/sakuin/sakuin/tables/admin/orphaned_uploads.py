"""Deletes uploaded documents that no Table needs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sakuin.platform.run_all import run_all
from sakuin.platform.s3 import BucketObject, S3Bucket
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.model import OrphanedFolder


@dataclass(frozen=True, slots=True)
class OrphanedUploads:
    """Which folders hold bodies that nobody may need any more."""

    client: Client

    def folders_due(self, *, of_the_gone: timedelta, left: timedelta, limit: int) -> Sequence[OrphanedFolder]:
        """Those known for so long, the longest first: of Tables that are gone, and of Tables that have another body."""
        seconds = {"p_gone": int(of_the_gone.total_seconds()), "p_left": int(left.total_seconds())}
        rows = call(self.client, "orphaned_uploads", {**seconds, "p_limit": limit})
        return [OrphanedFolder(**row) for row in rows]

    def mark_removed(self, folder: OrphanedFolder, *, again: bool) -> None:
        """It was looked through. `again`: something in it is not old enough, so it is due again after the same time."""
        said = {"p_folder": folder.folder, "p_keep": folder.keep, "p_again": again}
        call(self.client, "record_upload_cleanup", said)


# An address that was given out works for minutes, and a worker for as long.
OF_THE_GONE = timedelta(days=1)

# As long as a message may wait that imports a body, among the dead letters too.
LEFT = timedelta(days=15)

_FOLDERS_A_MINUTE = 10

_BODIES_OF_A_FOLDER = 100


@dataclass(frozen=True, slots=True)
class DeleteOrphanedUploads:
    """Any number of times, beside anything. The bucket's versions keep what is removed for a while."""

    bodies: OrphanedUploads
    bucket: S3Bucket
    now: Callable[[], datetime]

    def __call__(self) -> int:
        """How many are removed."""
        folders = self.bodies.folders_due(of_the_gone=OF_THE_GONE, left=LEFT, limit=_FOLDERS_A_MINUTE)
        return sum(run_all(folders, self._looked_through))

    def _looked_through(self, folder: OrphanedFolder) -> int:
        removed, others = 0, 0
        for one in self._held(folder.folder):
            if one.version_id is None or one.key == folder.keep:
                continue
            others += 1
            if self._is_old(one, folder):
                self.bucket.remove(one.key)
                removed += 1
            if removed == _BODIES_OF_A_FOLDER:
                # The next minute goes on.
                return removed
        self.bodies.mark_removed(folder, again=removed < others)
        return removed

    def _held(self, folder: str) -> Iterator[BucketObject]:
        after: str | None = None
        while True:
            page = self.bucket.current_objects(folder, after=after, limit=1_000)
            yield from page.items
            if page.upto is None:
                return
            after = page.upto

    def _is_old(self, one: BucketObject, folder: OrphanedFolder) -> bool:
        return one.modified < self.now() - (OF_THE_GONE if folder.gone else LEFT)
