"""Scheduled maintenance: publishes the outbox, restarts stalled work, deletes orphaned data."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sakuin.errors import SakuinError
from sakuin.platform.run_all import run_all
from sakuin.tables.chunk_store import ChunkStore
from sakuin.tables.index_names import namespace
from sakuin.tables.nodes import OrphanedIndex
from sakuin.tables.postgres import TableIndex

# A worker lives for minutes; its late write must still be found.
_REMEMBERED_SECONDS = 86_400

# The function has two minutes for all its parts.
_SECONDS_A_PART = 10.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What there was to do."""

    sent: int
    restarted: int
    removed: int
    resumed: int = 0


@dataclass(frozen=True, slots=True)
class Maintain:
    """Runs on a schedule; any number of times, beside anything."""

    send_events: Callable[[], int]
    index: TableIndex
    store: ChunkStore
    restart: Callable[[], int]
    resume: Callable[[], int]
    remove_bodies: Callable[[], int]
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> MaintenanceResult:
        """Does all it can; a part that fails is raised after the others had their turn."""
        failures: list[SakuinError] = []

        def done(part: Callable[[], int]) -> int:
            try:
                return part()
            except SakuinError as error:
                failures.append(error)
                return 0

        resumed, sent, restarted = done(self.resume), done(self.send_events), done(self.restart)
        removed = done(self._remove_abandoned) + done(self._remove_leftovers) + done(self.remove_bodies)
        if failures:
            raise failures[0]
        return MaintenanceResult(sent, restarted, removed, resumed)

    def _remove_leftovers(self) -> int:
        """Of indexes that are no longer kept.

        First the records: should the index come back, they would claim rows that are gone. A namespace without records
        is found among the abandoned.
        """

        def remove(leftover: OrphanedIndex) -> None:
            self.index.delete_records(leftover)
            self.store.delete_namespace(namespace(leftover.project_id, leftover.table_id, leftover.suffix))

        return self._each(self.index.orphaned_indexes(), remove)

    def _remove_abandoned(self) -> int:
        """Of what this deployment wrote only: another may use the same account."""
        abandoned = set(self.index.orphaned_namespaces())
        if not abandoned:
            return 0
        found = abandoned.intersection(self.store.namespaces("project_"))
        self.index.delete_namespace_records(abandoned - found, seconds=_REMEMBERED_SECONDS)
        return self._each(sorted(found), self.store.delete_namespace)

    def _each(self, items: Sequence[T], remove: Callable[[T], None]) -> int:
        """Removes what the time is enough for; one that fails is raised after the others.

        Each time begins elsewhere: those that take all the time, and fail, leave the others their turn.
        """
        until = self.clock() + _SECONDS_A_PART
        first = int(until // 60) % len(items) if items else 0
        in_turn = [*items[first:], *items[:first]]
        return len(run_all(in_turn, remove, is_over=lambda: self.clock() > until))
