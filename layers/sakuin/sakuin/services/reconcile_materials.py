"""What the bucket holds against what the index says of it, a page of keys at a time; repairs go through the queue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sakuin.domain.reconciliation import HELD_BACK, Difference, HeldObject, RecordedObject, held_back, of_bucket
from sakuin.domain.work_on_pages import AT_WORK, BURIED, left_to_work, subject_of_key
from sakuin.ports.materials import MaterialBucket, WorkQueue
from sakuin.ports.reconciliation import LibraryRecords
from sakuin.services.canary import OWN_FOLDER

_KEYS_A_PAGE = 1_000
_MATERIALS_A_PAGE = 50
_READINGS_A_PAGE = 5_000
# An event is followed within seconds; what changed just now is not looked at yet.
SETTLING = timedelta(minutes=3)
_LEFT_ALONE = (HELD_BACK, AT_WORK, BURIED)


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
            self.queue.look([one.where for one in found if one.repair not in _LEFT_ALONE], reason="reconcile")
        return Walked(found, end)

    def _considered(
        self,
        found: Sequence[Difference],
        held: Sequence[HeldObject],
        recorded: Sequence[RecordedObject],
        *,
        by_hand: bool,
    ) -> list[Difference]:
        # What is done since the two were read has no row any more: a look at it costs one message.
        works = self.records.work({subject_of_key(one.where, self.prefix) for one in found})
        if by_hand:
            alive = [work for work in works if work.state != "dead"]
            return left_to_work(found, held, alive, prefix=self.prefix)
        found = held_back(found, recorded, pages=self.records.pages())
        left = left_to_work(found, held, works, prefix=self.prefix)
        return [one for one in left if one.repair not in (AT_WORK, BURIED)]

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
            self.queue.reapply([material for material, _ in broken], reason="reconcile")
        return Walked(found, following)

    def words(self, after: str | None, *, dry_run: bool) -> Walked:
        """Takes out readings that no page has any more: pages that change leave them, so they are no difference."""
        _, following = self.records.sweep_words(after or "", limit=_READINGS_A_PAGE, dry_run=dry_run)
        return Walked([], following)

    def learns(self, after: str | None, *, dry_run: bool) -> Walked:
        """Asks once more for pages whose language model was away for longer than they waited: no difference either."""
        late, following = self.records.provisional(after or "", limit=_MATERIALS_A_PAGE)
        if not dry_run and late:
            self.queue.reapply(late, reason="provisional")
        return Walked([], following)
