"""Reconciliation of the bucket, the index, and the rows of pages in turbopuffer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sakuin.differences import ComparedPage, Difference
from sakuin.knowledge.messages import MaterialQueue
from sakuin.knowledge.model import RecordedObject
from sakuin.knowledge.names import OWN_FOLDER, authored_file, material_of_key
from sakuin.knowledge.postgres import MaterialRecords
from sakuin.platform.s3 import BucketObject, S3Bucket
from sakuin.platform.waiting import note_requests
from sakuin.texts.catalogue import coded

if TYPE_CHECKING:
    from sakuin.knowledge.turbopuffer import StoredPages

# An event arrives within seconds. Changes of the last minutes are left to their events.
GRACE = timedelta(minutes=3)

# Deletions of most pages at once wait for a command. A single page is always deleted.
_SEVERAL, _MANY = 2, 20

_KEYS_A_PAGE = 1_000
# Rows of a page may need one request for each hundred of its explanations.
_MATERIALS_A_PAGE = 10

_RECHECK = "the key is checked again"
NEEDS_COMMAND = "nothing, since most pages would be deleted; run `sakuin validate --repair` to delete them"


def bucket_differences(
    present: Sequence[BucketObject], recorded: Sequence[RecordedObject], *, prefix: str, until: datetime
) -> list[Difference]:
    """Returns the differences between the bucket and the index in the same range of keys, by key.

    It skips keys that changed after `until` or are `young`, since their events may be under way, versions whose message
    will come, and the canary's page. A version that could not be read is known to the index, and is no difference.
    """
    objects = {one.key: one for one in present}
    records = {one.key: one for one in recorded}
    keys = [key for key in objects.keys() | records.keys() if not key.startswith(prefix + OWN_FOLDER)]
    differences = []
    for key in sorted(keys, key=str.encode):
        stored, record = objects.get(key), records.get(key)
        if (stored is not None and stored.modified > until) or (record is not None and record.young):
            continue
        if stored is not None and record is not None and record.under_way:
            # A deletion needs no vendor, so it does not wait with a version.
            continue
        is_file = authored_file(key, prefix=prefix) is not None
        if is_file or material_of_key(key, prefix=prefix) is not None:
            differences += _differences_of_key(key, stored.version_id if stored else None, record, is_file=is_file)
    return differences


def _differences_of_key(
    key: str, version: str | None, record: RecordedObject | None, *, is_file: bool
) -> list[Difference]:
    if version == (record.version_id if record else None):
        if record is None or not record.again:
            return []
        return [Difference("differs", key, "The index did not read all that it depends on.", _RECHECK)]
    if version is None and not is_file:
        return [Difference("gone", key, "It is indexed, but not in the bucket.", _RECHECK)]
    return [Difference("differs", key, "The index has another version than the bucket, or none.", _RECHECK)]


def _with_deletions_held_back(differences: Sequence[Difference], indexed: int, *, pages: int) -> list[Difference]:
    """Returns the differences. Deletions of most `pages` of the library, or of most that are `indexed`, need a command.

    So many events are not lost one by one: the bucket is another one, or was emptied by mistake.
    """
    deletions = sum(one.rule == "gone" for one in differences)
    are_most = deletions > pages / 2 or (deletions >= _MANY and deletions > indexed / 2)
    if deletions < _SEVERAL or not are_most:
        return list(differences)
    return [replace(one, repair=NEEDS_COMMAND) if one.rule == "gone" else one for one in differences]


@dataclass(frozen=True, slots=True)
class ReconcileMaterials:
    """Finds changes whose events were lost, and asks the indexer to check their keys again."""

    bucket: S3Bucket
    records: MaterialRecords
    queue: MaterialQueue
    prefix: str
    now: Callable[[], datetime]
    stored_pages: "Callable[[], StoredPages | None]" = lambda: None

    def keys(self, after: str | None, *, dry_run: bool, grace: timedelta = GRACE) -> ComparedPage:
        """Compares a page of keys in the bucket and the index. Changes within `grace` are left to their events.

        A key that a message is under way for is left to it. A `grace` of zero is a command: it also deletes most pages.
        """
        present = self.bucket.current_objects(self.prefix, after=after, limit=_KEYS_A_PAGE)
        seconds = grace.total_seconds()
        recorded = self.records.objects(after or self.prefix, limit=_KEYS_A_PAGE, young_seconds=seconds)
        ends = [present.upto] if present.upto is not None else []
        if len(recorded) == _KEYS_A_PAGE:
            ends.append(recorded[-1].key)
        # Up to this key, both sides are complete.
        end = min(ends, default=None)
        differences = bucket_differences(
            [one for one in present.items if end is None or one.key <= end],
            [one for one in recorded if end is None or one.key <= end],
            prefix=self.prefix,
            until=self.now() - grace,
        )
        if differences and grace:
            indexed = sum(
                one.version_id is not None for one in recorded if not authored_file(one.key, prefix=self.prefix)
            )
            differences = _with_deletions_held_back(differences, indexed, pages=self.records.page_count())
        if not dry_run:
            keys = [one.where for one in differences if one.repair == _RECHECK]
            pages = {material_of_key(key, prefix=self.prefix) for key in keys}
            reason = coded("letter.reconcile")
            note_requests(self.records.client, [page for page in pages if page], reason)
            self.queue.recheck(keys, reason=reason)
        return ComparedPage(differences, end)

    def rows(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Compares the rows of a page of materials with turbopuffer, and reindexes materials that lack any."""
        stored = self.stored_pages()
        if stored is None:
            return ComparedPage([], None)
        lacking, following = stored.lacking(after or "", limit=_MATERIALS_A_PAGE, dry_run=dry_run)
        if not dry_run and lacking:
            reason = coded("letter.reconcile")
            note_requests(self.records.client, lacking, reason)
            self.queue.reindex(lacking, reason=reason)
        message = "turbopuffer does not have all of its explanations."
        return ComparedPage([Difference("lost", one, message, "they are stored again") for one in lacking], following)
