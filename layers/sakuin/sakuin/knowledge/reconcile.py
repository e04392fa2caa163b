"""Compares the bucket with the index, and the records of a page with each other."""

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sakuin.knowledge.canary import OWN_FOLDER
from sakuin.knowledge.learns.learns_yml import LEARNS_FILE
from sakuin.knowledge.model import RecordedObject
from sakuin.knowledge.names import material_of_key, synonyms_key
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.knowledge.queue import MaterialQueue
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.s3 import Bucket, BucketObject
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore


def of_bucket(
    held: Sequence[BucketObject],
    recorded: Sequence[RecordedObject],
    *,
    prefix: str,
    until: datetime,
    own: Collection[str] = (),
) -> list[Difference]:
    """What the bucket and the index say otherwise of the same range of keys, by key.

    What changed after `until`, or is young, is left alone: its event is on its way. So are keys that begin with one
    of `own`.
    A version that could not be read is what the index heard of: it is no difference.
    """
    there = {one.key: one for one in held}
    known = {one.key: one for one in recorded}
    keys = [key for key in there.keys() | known.keys() if not key.startswith(tuple(own))]
    found = []
    for key in sorted(keys, key=str.encode):
        here, its = there.get(key), known.get(key)
        if (here is not None and here.modified > until) or (its is not None and its.young):
            continue
        difference = _of_key(key, here.version_id if here else None, its, prefix)
        if difference is not None:
            found.append(difference)
    return found


def held_back(found: Sequence[Difference], recorded: Sequence[RecordedObject], *, pages: int) -> list[Difference]:
    """The same; where most of `pages`, or of a large range, would go at once, they stay until somebody asks for it.

    So many events are not lost one by one: the bucket is another one, or was emptied behind everybody's back. `pages`
    are those of the whole library.
    """
    gone = sum(one.rule == "gone" for one in found)
    indexed = sum(not one.gone and one.kind != "file" for one in recorded)
    most = gone > pages / 2 or (gone >= _FLOOD and gone > indexed / 2)
    if gone < _SEVERAL or not most:
        return list(found)
    return [replace(one, repair=HELD_BACK) if one.rule == "gone" else one for one in found]


# Two pages and more, that are most of the library.
_SEVERAL, _FLOOD = 2, 20

HELD_BACK = "nothing by itself, since most pages would go; `sakuin reconcile` does it"

_ASKED = "its key is looked at again"


def _of_key(key: str, version: str | None, its: RecordedObject | None, prefix: str) -> Difference | None:
    if is_file_beside(key, prefix):
        # What was never there needs no reading.
        if (its.version_id if its else None) == version and not (its and its.free):
            return None
        return Difference("unread", key, "It was not read as it is now.", _ASKED)
    if material_of_key(key, prefix=prefix) is None:
        return None
    known = its is not None and not its.gone
    if version is None:
        return Difference("gone", key, "It is indexed, and not in the bucket.", _ASKED) if known else None
    if its is None or not known:
        said = "the index says that it was deleted" if its else "the index never heard of it"
        return Difference("missing", key, f"It is in the bucket, and {said}.", _ASKED)
    if its.kind == "waiting" and its.free:
        return Difference("orphaned", key, "It waits for a material whose owner is gone.", _ASKED)
    if its.version_id not in (None, version):
        return Difference("stale", key, "The bucket holds another version than the index has heard of.", _ASKED)
    return None


def is_file_beside(key: str, prefix: str) -> bool:
    """Whether a key is a `learns.yml`, or the site's `synonyms.yml`."""
    name = unicodedata.normalize("NFC", key)
    is_learns = name.startswith(prefix) and name.rpartition("/")[2] == LEARNS_FILE
    return is_learns or key == synonyms_key(prefix)


_KEYS_A_PAGE = 1_000

_MATERIALS_A_PAGE = 50

_READINGS_A_PAGE = 5_000

# An event is followed within seconds; what changed just now is not looked at yet.
SETTLING = timedelta(minutes=3)

UNDER_WAY = "nothing more: its work continues by itself"

FAILED = "nothing by itself: see `sakuin redrive`, which has its dead letter"

_LEFT_ALONE = (HELD_BACK, UNDER_WAY, FAILED)


@dataclass(frozen=True, slots=True)
class ReconcileMaterials:
    """Finds what no event told. Who looks at a key is the indexer, behind its own fences."""

    bucket: Bucket
    records: MaterialRecords
    unfinished: UnfinishedWorkStore
    queue: MaterialQueue
    prefix: str
    now: Callable[[], datetime]

    def keys(self, after: str | None, *, dry_run: bool, settling: timedelta = SETTLING) -> ComparedPage:
        """The bucket's keys and the index's, in one order. What changed within `settling` is left to its event.

        Who settles nothing asked by hand, and gets what he asked for even if most pages go, or have dead letters; he is
        also shown what somebody is at. The schedule leaves both alone: the rows of work say it.
        """
        held = self.bucket.held(self.prefix, after=after, limit=_KEYS_A_PAGE)
        recorded = self.records.objects(after or self.prefix, limit=_KEYS_A_PAGE, settling=settling.total_seconds())
        ends = [held.upto] if held.upto is not None else []
        if len(recorded) == _KEYS_A_PAGE:
            ends.append(recorded[-1].key)
        # Both sides are known up to here.
        end = min(ends, default=None)
        found = of_bucket(
            [one for one in held.items if end is None or one.key <= end],
            [one for one in recorded if end is None or one.key <= end],
            prefix=self.prefix,
            until=self.now() - settling,
            own=(self.prefix + OWN_FOLDER,),
        )
        if found:
            found = self._considered(found, held.items, recorded, by_hand=not settling)
        if not dry_run:
            self.queue.recheck([one.where for one in found if one.repair not in _LEFT_ALONE], reason="reconcile")
        return ComparedPage(found, end)

    def _considered(
        self,
        found: Sequence[Difference],
        held: Sequence[BucketObject],
        recorded: Sequence[RecordedObject],
        *,
        by_hand: bool,
    ) -> list[Difference]:
        # What has finished since the two were read has no row any more: a recheck of it costs one message.
        rows = self.unfinished.rows(subjects={one.where for one in found}, limit=len(found))
        unfinished = {row.subject: row for row in rows if row.kind == "file"}
        if by_hand:
            alive = {key: row for key, row in unfinished.items() if row.state != "failed"}
            return _left_to_work(found, held, alive)
        found = held_back(found, recorded, pages=self.records.page_count())
        left = _left_to_work(found, held, unfinished)
        return [one for one in left if one.repair not in (UNDER_WAY, FAILED)]

    def pages(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Chunks, words and postings of pages, which one transaction wrote, and which belong together."""
        broken, following = self.records.broken_materials(after or "", limit=_MATERIALS_A_PAGE)
        found = [
            Difference("broken", material, f"It has {why}.", "it is mended and applied again")
            for material, why in broken
        ]
        if not dry_run and broken:
            for material, _ in broken:
                self.records.repair(material)
            self.queue.reindex([material for material, _ in broken], reason="reconcile")
        return ComparedPage(found, following)

    def words(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Takes out readings that no page has any more: pages that change leave them, so they are no difference."""
        _, following = self.records.delete_unused_readings(after or "", limit=_READINGS_A_PAGE, dry_run=dry_run)
        return ComparedPage([], following)

    def learns(self, after: str | None, *, dry_run: bool) -> ComparedPage:
        """Asks once more for pages whose language model was away for longer than they waited: no difference either."""
        late, following = self.records.provisional_materials(after or "", limit=_MATERIALS_A_PAGE)
        if not dry_run and late:
            self.queue.reindex(late, reason="provisional")
        return ComparedPage([], following)


def _left_to_work(
    found: Sequence[Difference], held: Sequence[BucketObject], unfinished: Mapping[str, UnfinishedWork]
) -> list[Difference]:
    """The same differences; those that have work of their own, or failed for good on this version, are left to it."""
    there = {one.key: one for one in held if one.version_id is not None}
    left = []
    for one in found:
        row = unfinished.get(one.where)
        if row is None:
            left.append(one)
        elif row.state == "failed":
            # A newer version is another matter.
            is_same = _failed_on(row, there.get(one.where))
            left.append(replace(one, repair=FAILED) if is_same else one)
        elif row.state == "waiting" and one.rule == "gone":
            # A page that is gone needs no vendor, so it does not wait for one.
            left.append(one)
        else:
            left.append(replace(one, repair=UNDER_WAY))
    return left


def _failed_on(row: UnfinishedWork, held: BucketObject | None) -> bool:
    """Returns whether work failed on what the bucket holds now."""
    if held is None:
        return row.removed
    if row.version_id is None:
        # It was about whatever the key held when it failed.
        return held.modified <= datetime.fromisoformat(row.since)
    return row.version_id == held.version_id
