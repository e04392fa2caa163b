"""Reconciliation of the bucket, the index and the records of a page."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sakuin.knowledge.messages import MaterialQueue, ObjectRemoved, ObjectWritten, read_event
from sakuin.knowledge.model import RecordedObject
from sakuin.knowledge.names import OWN_FOLDER, authored_file, material_of_key
from sakuin.knowledge.postgres import MaterialRecords
from sakuin.platform.queue_handler import parsed_message
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.s3 import BucketObject, S3Bucket
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore
from sakuin.texts.catalogue import coded

if TYPE_CHECKING:
    from sakuin.knowledge.turbopuffer import StoredPages

# An event arrives within seconds. Changes of the last minutes are left to their events.
GRACE = timedelta(minutes=3)

# Deletions of most pages at once wait for a command. A single page is always deleted.
_SEVERAL, _MANY = 2, 20

_KEYS_A_PAGE = 1_000
# Postgres takes 0.08 s for each of twenty explanations (decision 56).
_MATERIALS_A_PAGE = 10
_READINGS_A_PAGE = 5_000
_TEXTS_A_PAGE = 2_000
# Texts that come back within this time are not paid for again.
_UNUSED = timedelta(days=30)
# There is no place to continue from: the next call finds what is left.
_MORE = "more"

_RECHECK = "the key is checked again"
NEEDS_COMMAND = "nothing, since most pages would be deleted; run `sakuin reconcile` to delete them"
UNDER_WAY = "nothing more: its work is in progress"
FAILED = "nothing: its message is a dead letter, see `sakuin redrive`"


def bucket_differences(
    present: Sequence[BucketObject],
    recorded: Sequence[RecordedObject],
    *,
    prefix: str,
    until: datetime,
    own: Collection[str] = (),
) -> list[Difference]:
    """Returns the differences between the bucket and the index in the same range of keys, by key.

    It skips keys that changed after `until` or are `young`, since their events may be under way, and keys that begin
    with one of `own`. A version that could not be read is known to the index, and is no difference.
    """
    objects = {one.key: one for one in present}
    records = {one.key: one for one in recorded}
    keys = [key for key in objects.keys() | records.keys() if not key.startswith(tuple(own))]
    differences = []
    for key in sorted(keys, key=str.encode):
        stored, record = objects.get(key), records.get(key)
        if (stored is not None and stored.modified > until) or (record is not None and record.young):
            continue
        difference = _difference_of_key(key, stored.version_id if stored else None, record, prefix)
        if difference is not None:
            differences.append(difference)
    return differences


def _difference_of_key(key: str, version: str | None, record: RecordedObject | None, prefix: str) -> Difference | None:
    if authored_file(key, prefix=prefix):
        # A file that never existed is equal on both sides: it has no version.
        if (record.version_id if record else None) != version:
            return Difference("unread", key, coded("night.not_read"), _RECHECK)
        if record and record.free:
            return Difference("unread", key, coded("night.not_written_with"), _RECHECK)
        return None
    if material_of_key(key, prefix=prefix) is None:
        return None
    is_known = record is not None and not record.gone
    if version is None:
        return Difference("gone", key, coded("night.not_in_bucket"), _RECHECK) if is_known else None
    if record is None or not is_known:
        reason = "night.deleted_in_index" if record else "night.unknown_in_index"
        return Difference("missing", key, coded(reason), _RECHECK)
    if record.kind == "waiting" and record.free:
        return Difference("orphaned", key, coded("night.owner_deleted"), _RECHECK)
    if record.version_id not in (None, version):
        return Difference("stale", key, coded("night.other_version"), _RECHECK)
    return None


def _with_deletions_held_back(
    found: Sequence[Difference], recorded: Sequence[RecordedObject], *, pages: int
) -> list[Difference]:
    """Returns the differences. Deletions of most `pages` of the library, or of a large range, need a command.

    So many events are not lost one by one: the bucket is another one, or was emptied by mistake.
    """
    deletions = sum(one.rule == "gone" for one in found)
    indexed = sum(not one.gone and one.kind != "file" for one in recorded)
    are_most = deletions > pages / 2 or (deletions >= _MANY and deletions > indexed / 2)
    if deletions < _SEVERAL or not are_most:
        return list(found)
    return [replace(one, repair=NEEDS_COMMAND) if one.rule == "gone" else one for one in found]


@dataclass(frozen=True, slots=True)
class ReconcileMaterials:
    """Finds changes whose events were lost, and asks the indexer to check their keys again."""

    bucket: S3Bucket
    records: MaterialRecords
    unfinished: UnfinishedWorkStore
    queue: MaterialQueue
    prefix: str
    now: Callable[[], datetime]
    stored_pages: "Callable[[], StoredPages | None]" = lambda: None

    def keys(self, after: str | None, *, dry_run: bool, grace: timedelta = GRACE) -> ComparedPage:
        """Compares a page of keys in the bucket and the index. Changes within `grace` are left to their events.

        A `grace` of zero is a command: it also deletes most pages and retries dead letters, and it reports keys whose
        work is in progress. The schedule does none of these.
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
            own=(self.prefix + OWN_FOLDER,),
        )
        if differences:
            differences = self._with_repairs(differences, present.items, recorded, is_command=not grace)
        if not dry_run:
            self.queue.recheck([one.where for one in differences if one.repair == _RECHECK], reason="reconcile")
        return ComparedPage(differences, end)

    def _with_repairs(
        self,
        found: Sequence[Difference],
        present: Sequence[BucketObject],
        recorded: Sequence[RecordedObject],
        *,
        is_command: bool,
    ) -> list[Difference]:
        # Work that finished after the comparison has no row any more; checking its key again costs one message.
        rows = self.unfinished.rows(subjects={one.where for one in found}, limit=len(found))
        unfinished = {row.subject: row for row in rows if row.kind == "file"}
        if is_command:
            in_progress = {key: row for key, row in unfinished.items() if row.state != "failed"}
            return _with_work(found, present, in_progress)
        found = _with_deletions_held_back(found, recorded, pages=self.records.page_count())
        found = _with_work(found, present, unfinished)
        return [one for one in found if one.repair not in (UNDER_WAY, FAILED)]

    def pages(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Checks that chunks, words, postings and rows of pages are consistent; reindexes pages where they are not."""
        if not dry_run and (stored := self.stored_pages()):
            stored.forget_lost(after or "", limit=_MATERIALS_A_PAGE)
        broken, following = self.records.broken_materials(after or "", limit=_MATERIALS_A_PAGE)
        differences = [
            Difference("broken", material, coded(f"night.{problem.replace(' ', '_')}"), coded("night.reindexed"))
            for material, problem in broken
        ]
        if not dry_run and broken:
            for material, _ in broken:
                self.records.repair(material)
            self.queue.reindex([material for material, _ in broken], reason="reconcile")
        return ComparedPage(differences, following)

    def words(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Deletes readings that no page has. Changes of pages leave some behind, so they are no difference."""
        _, following = self.records.delete_unused_readings(after or "", limit=_READINGS_A_PAGE, dry_run=dry_run)
        return ComparedPage([], following)

    def learns(self, _after: str | None, *, dry_run: bool) -> ComparedPage:
        """Deletes answers of the language model, and vectors, of texts that nothing has had for 30 days."""
        if dry_run:
            return ComparedPage([], None)
        deleted = self.records.delete_unused_texts(seconds=_UNUSED.total_seconds(), limit=_TEXTS_A_PAGE)
        return ComparedPage([], _MORE if deleted else None)


def _with_work(
    found: Sequence[Difference], present: Sequence[BucketObject], unfinished: Mapping[str, UnfinishedWork]
) -> list[Difference]:
    """Returns the differences. Those whose version has unfinished work or a dead letter are not repaired."""
    objects = {one.key: one for one in present if one.version_id is not None}
    result = []
    for one in found:
        row = unfinished.get(one.where)
        if row is None:
            result.append(one)
        elif row.state == "failed":
            is_same = _failed_on(row, objects.get(one.where))
            result.append(replace(one, repair=FAILED) if is_same else one)
        elif row.state == "waiting" and one.rule == "gone":
            # A deletion needs no vendor, so it does not wait for one.
            result.append(one)
        else:
            result.append(replace(one, repair=UNDER_WAY))
    return result


def _failed_on(row: UnfinishedWork, stored: BucketObject | None) -> bool:
    """Returns whether the work failed on the current version of the bucket."""
    event = read_event(parsed_message(row.body)) if row.body else None
    if stored is None:
        return isinstance(event, ObjectRemoved) and event.marker
    if isinstance(event, ObjectWritten | ObjectRemoved):
        return event.source.version_id == stored.version_id
    # The work was about the version that was current when it failed.
    return stored.modified <= datetime.fromisoformat(row.since)
