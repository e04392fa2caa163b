"""Maintenance: publishes the outbox, resumes deferred work, asks for `learns`, helps stalled Tables, cleans up."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sakuin.platform.queue_handler import RESUMED
from sakuin.platform.run_all import run_all
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.telemetry import CurrentWork
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.tables.nodes import OrphanedIndex, namespace
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import complete_indexed

if TYPE_CHECKING:
    # Only workers that ask the store load its SDK.
    from sakuin.tables.turbopuffer import ChunkStore

# Workers live for minutes. The records stay longer, to find what a slow worker writes after the deletion.
_RECORD_SECONDS = 86_400
# The function has two minutes for all its parts. A part begins no item after ten seconds, and only if the invocation
# has the time that one call of AWS may take with its repetitions.
_SECONDS_PER_PART = 10.0
LONGEST_PART = 40.0
# Messages in one run. After an outage, or at the beginning of a day, a vendor must not receive all at once.
_RESUMED_PER_RUN = 100

# Rows of one kind in one statement: far less than the eight seconds that Supabase allows.
ROWS_PER_PORTION = 5_000
# Subscriptions whose feed has moved and that no worker has sent a message for.
WEBHOOKS_PER_RUN = 200
# Whoever follows the change feed has so long to read that something is gone.
CHANGES_DAYS = 30

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ResumeWork:
    """Sends the messages of deferred work that is due. Each row belongs to one run; a repeated message does no harm."""

    unfinished: UnfinishedWorkStore
    queues: Mapping[str, SqsQueue]
    limit: int = _RESUMED_PER_RUN

    def __call__(self) -> int:
        """Returns the number of messages."""
        due = self.unfinished.claim_due(limit=self.limit)
        for message in due:
            self.queues[message.queue].send_copy(message.body, RESUMED, delay_seconds=0, group=message.group)
        return len(due)


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """The counts of one run. `deletions_left`: deleted Tables and projects that still have rows."""

    sent: int
    restarted: int
    removed: int
    resumed: int = 0
    learns: int = 0
    deletions_left: int = 0
    completed: int = 0
    webhooks: int = 0


@dataclass(frozen=True, slots=True)
class Maintain:
    """Runs each minute. Repeated and concurrent runs are safe."""

    publish_events: Callable[[], int]
    index: TableIndex
    store: "ChunkStore"
    restart_tables: Callable[[], int]
    resume_work: Callable[[], int]
    delete_uploads: Callable[[], int]
    send_learns: Callable[[], int]
    # It returns 0.
    write_quotas: Callable[[], int] = lambda: 0
    delete_questions: Callable[[], int] = lambda: 0
    delete_changes: Callable[[], int] = lambda: 0
    # It returns the number of messages.
    send_webhooks: Callable[[], int] = lambda: 0
    # They delete a portion and return its size.
    sweep_words: Callable[[], int] = lambda: 0
    sweep_rows: Callable[[], int] = lambda: 0
    clock: Callable[[], float] = time.monotonic
    rows_per_portion: int = ROWS_PER_PORTION
    work: CurrentWork = field(default_factory=CurrentWork)

    def __call__(self) -> MaintenanceResult:
        """Runs all parts, each in a limited time. The first error is raised after the last part."""
        parts: tuple[Callable[[], int], ...] = (
            self.write_quotas,
            # A deleted project has events for its Tables, which are published afterwards.
            *(self._delete_rows, self.resume_work, self.publish_events, self.restart_tables, self.send_learns),
            self.send_webhooks,
            *(self.delete_uploads, self.delete_questions, self.delete_changes),
            partial(self._sweep, self.sweep_words),
            # A store that hangs takes the most time.
            partial(self._sweep, self.sweep_rows),
            *(self._complete_tables, self._delete_namespaces, self._delete_indexes),
        )
        _, left, resumed, sent, restarted, learns, webhooks, *rows, completed, spaces, indexes = run_all(
            parts, self._run
        )
        removed = sum((*rows, spaces, indexes))
        return MaintenanceResult(sent, restarted, removed, resumed, learns, left, completed, webhooks)

    def _run(self, part: Callable[[], int]) -> int:
        with self.work.limited(LONGEST_PART):
            return part()

    def _delete_rows(self) -> int:
        """Deletes the rows of deleted Tables and projects in portions. Returns how many Tables and projects have more.

        A worker that dies loses at most one portion.
        """
        until, left = self.clock() + _SECONDS_PER_PART, 0
        while portion := self.index.delete_portion(limit=self.rows_per_portion):
            left = portion.left
            if self.clock() > until:
                break
        return left

    def _sweep(self, sweep: Callable[[], int]) -> int:
        """Deletes words or rows of pages that no search sees, in portions."""
        until, swept = self.clock() + _SECONDS_PER_PART, 0
        while (rows := sweep()) and self.clock() < until:
            swept += rows
        return swept

    def _complete_tables(self) -> int:
        """Completes Tables whose chunks turbopuffer has indexed meanwhile, so that searches see them."""
        complete = partial(complete_indexed, self.store, self.index)
        return sum(self._run_in_time(self.index.unindexed_tables(), complete))

    def _delete_indexes(self) -> int:
        """Deletes the indexes over Tables of deleted index versions.

        The records are deleted first, in portions: if the index version is added again, no record refers to deleted
        rows. A namespace without records is found by `_delete_namespaces`.
        """
        until = self.clock() + _SECONDS_PER_PART

        def delete(index: OrphanedIndex) -> None:
            while deleted := self.index.delete_records(index, limit=self.rows_per_portion):
                if self.clock() > until:
                    return
            if deleted is not None:
                self.store.delete_namespace(namespace(index.project_id, index.table_id, index.suffix))

        return len(self._run_in_time(self.index.orphaned_indexes(), delete))

    def _delete_namespaces(self) -> int:
        """Deletes orphaned namespaces of this deployment; another one may use the same account."""
        orphaned = set(self.index.orphaned_namespaces())
        if not orphaned:
            return 0
        names = orphaned.intersection(self.store.namespaces("project_"))
        self.index.delete_namespace_records(orphaned - names, seconds=_RECORD_SECONDS)
        return len(self._run_in_time(sorted(names), self.store.delete_namespace))

    def _run_in_time(self, items: Sequence[T], act: Callable[[T], R]) -> list[R]:
        """Acts on as many items as the time allows. The first error is raised after the last item.

        Each run begins with another item, so that slow items that fail do not block the others.
        """
        until = self.clock() + _SECONDS_PER_PART
        first = int(until // 60) % len(items) if items else 0
        rotated = [*items[first:], *items[:first]]
        return run_all(rotated, act, is_over=lambda: self.clock() > until)
