"""Uploaded bodies that no Table has any more go from their bucket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sakuin.domain.reconciliation import HeldObject
from sakuin.ports.materials import MaterialBucket
from sakuin.ports.projects import LeftBodies, LeftFolder
from sakuin.services.each_in_turn import each_in_turn

# An address that was given out works for minutes, and a worker for as long.
OF_THE_GONE = timedelta(days=1)
# As long as a message may wait that imports a body, among the dead letters too.
LEFT = timedelta(days=15)
_FOLDERS_A_MINUTE = 10
_BODIES_OF_A_FOLDER = 100


@dataclass(frozen=True, slots=True)
class RemoveBodies:
    """Any number of times, beside anything. The bucket's versions keep what is removed for a while."""

    bodies: LeftBodies
    bucket: MaterialBucket
    now: Callable[[], datetime]

    def __call__(self) -> int:
        """How many are removed."""
        folders = self.bodies.due(of_the_gone=OF_THE_GONE, left=LEFT, limit=_FOLDERS_A_MINUTE)
        return sum(each_in_turn(folders, self._looked_through))

    def _looked_through(self, folder: LeftFolder) -> int:
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
        self.bodies.removed(folder, again=removed < others)
        return removed

    def _held(self, folder: str) -> Iterator[HeldObject]:
        after: str | None = None
        while True:
            page = self.bucket.held(folder, after=after, limit=1_000)
            yield from page.items
            if page.upto is None:
                return
            after = page.upto

    def _is_old(self, one: HeldObject, folder: LeftFolder) -> bool:
        return one.modified < self.now() - (OF_THE_GONE if folder.gone else LEFT)
