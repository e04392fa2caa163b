"""What the bucket holds against what the index says of it, a page of keys at a time; repairs go through the queue."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sakuin.domain.reconciliation import HELD_BACK, Difference, HeldObject, RecordedObject, held_back, of_bucket
from sakuin.knowledge.canary import OWN_FOLDER
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore
from sakuin.ports.materials import MaterialBucket, WorkQueue
from sakuin.ports.reconciliation import LibraryRecords

_KEYS_A_PAGE = 1_000
_MATERIALS_A_PAGE = 50
_READINGS_A_PAGE = 5_000
# An event is followed within seconds; what changed just now is not looked at yet.
SETTLING = timedelta(minutes=3)
UNDER_WAY = "nothing more: its work continues by itself"
FAILED = "nothing by itself: see `sakuin redrive`, which has its dead letter"
_LEFT_ALONE = (HELD_BACK, UNDER_WAY, FAILED)


@dataclass(frozen=True, slots=True)
class Walked:
    """What one page of a walk found, and where the next begins (None at the end)."""

    differences: list[Difference]
    after: str | None


@dataclass(frozen=True, slots=True)
class ReconcileMaterials:
    """Finds what no event told. Who looks at a key is the indexer, behind its own fences."""

    bucket: MaterialBucket
    records: LibraryRecords
    unfinished: UnfinishedWorkStore
    queue: WorkQueue
    prefix: str
    now: Callable[[], datetime]

    def keys(self, after: str | None, *, dry_run: bool, settling: timedelta = SETTLING) -> Walked:
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
        return Walked(found, end)

    def _considered(
        self,
        found: Sequence[Difference],
        held: Sequence[HeldObject],
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
        found = held_back(found, recorded, pages=self.records.pages())
        left = _left_to_work(found, held, unfinished)
        return [one for one in left if one.repair not in (UNDER_WAY, FAILED)]

    def pages(self, after: str | None, *, dry_run: bool) -> Walked:
        """Chunks, words and postings of pages, which one transaction wrote, and which belong together."""
        broken, following = self.records.broken(after or "", limit=_MATERIALS_A_PAGE)
        found = [
            Difference("broken", material, f"It has {why}.", "it is mended and applied again")
            for material, why in broken
        ]
        if not dry_run and broken:
            for material, _ in broken:
                self.records.mend(material)
            self.queue.reindex([material for material, _ in broken], reason="reconcile")
        return Walked(found, following)

    def words(self, after: str | None, *, dry_run: bool) -> Walked:
        """Takes out readings that no page has any more: pages that change leave them, so they are no difference."""
        _, following = self.records.sweep_words(after or "", limit=_READINGS_A_PAGE, dry_run=dry_run)
        return Walked([], following)

    def learns(self, after: str | None, *, dry_run: bool) -> Walked:
        """Asks once more for pages whose language model was away for longer than they waited: no difference either."""
        late, following = self.records.provisional(after or "", limit=_MATERIALS_A_PAGE)
        if not dry_run and late:
            self.queue.reindex(late, reason="provisional")
        return Walked([], following)


def _left_to_work(
    found: Sequence[Difference], held: Sequence[HeldObject], unfinished: Mapping[str, UnfinishedWork]
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


def _failed_on(row: UnfinishedWork, held: HeldObject | None) -> bool:
    """Returns whether work failed on what the bucket holds now."""
    if held is None:
        return row.removed
    if row.version_id is None:
        # It was about whatever the key held when it failed.
        return held.modified <= datetime.fromisoformat(row.since)
    return row.version_id == held.version_id
