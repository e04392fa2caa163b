"""What must be true in the end, whatever died on the way: events sent, work not stuck, no namespace without a Table."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.search_index_names import namespace
from sakuin.errors import SakuinError
from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.tables import TableIndex, TableQueues
from sakuin.services.send_events import SendEvents

_STUCK_SECONDS = 900
# A worker lives for minutes; its late write must still be found.
_REMEMBERED_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Maintained:
    """What there was to do."""

    sent: int
    restarted: int
    removed: int
    outdated: int


@dataclass(frozen=True, slots=True)
class Maintain:
    """Runs on a schedule; any number of times, beside anything."""

    send_events: SendEvents
    index: TableIndex
    queues: TableQueues
    store: ChunkStore

    def __call__(self) -> Maintained:
        """Does all it can; a part that fails is raised after the others had their turn."""
        failures: list[SakuinError] = []

        def done(part: Callable[[], int]) -> int:
            try:
                return part()
            except SakuinError as error:
                failures.append(error)
                return 0

        outdated = done(self.index.want_outdated)
        sent, restarted = done(self.send_events), done(self._restart)
        removed = done(self._remove_abandoned) + done(self._remove_leftovers)
        if failures:
            raise failures[0]
        return Maintained(sent, restarted, removed, outdated)

    def _restart(self) -> int:
        stuck = self.index.stuck(_STUCK_SECONDS)
        for project_id, table_id in stuck:
            self.queues.index(project_id, table_id)
        return len(stuck)

    def _remove_leftovers(self) -> int:
        """Indexes for other fingerprints, once the present one is whole: first what is searched, then its records."""
        leftovers = self.index.leftovers()
        for leftover in leftovers:
            self.store.delete_namespace(namespace(leftover.project_id, leftover.table_id, leftover.suffix))
            self.index.forget(leftover)
        return len(leftovers)

    def _remove_abandoned(self) -> int:
        """Of what this deployment wrote only: another may use the same account."""
        abandoned = set(self.index.abandoned())
        if not abandoned:
            return 0
        found = abandoned.intersection(self.store.namespaces("project_"))
        for name in sorted(found):
            self.store.delete_namespace(name)
        self.index.forget_namespaces(abandoned - found, seconds=_REMEMBERED_SECONDS)
        return len(found)
