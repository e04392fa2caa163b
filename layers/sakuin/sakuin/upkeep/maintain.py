"""Maintenance: publishes the outbox, asks for `learns`, restarts stalled Tables, reconciles, deletes unused data."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sakuin.errors import OutOfTime
from sakuin.platform.run_all import rotated, run_all
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.platform.telemetry import CurrentWork
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

# Rows of one kind in one statement: far less than the eight seconds that Supabase allows.
ROWS_PER_PORTION = 5_000

# Works on the portion after a place. Returns how much it did, and the place of the next portion, None after the last.
Portion = Callable[[str], tuple[int, str | None]]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class DailyRound:
    """A round whose place is in Postgres. A worker that dies loses one portion; two at once may repeat portions."""

    client: Client
    name: str
    portion: Portion
    seconds: float = 10.0
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> int:
        """Continues the round of the day for about `seconds`; returns how much it did."""
        until, done = self.clock() + self.seconds, 0
        start = call(self.client, "begin_round", {"p_name": self.name})
        place: str | None = start["place"] if start else None
        while place is not None and self.clock() < until:
            count, place = self.portion(place)
            answer(self.client.table("daily_round").update({"place": place}).eq("name", self.name))
            done += count
        return done


@dataclass(frozen=True, slots=True)
class Maintain:
    """Runs each minute. Repeated and concurrent runs are safe."""

    publish_events: Callable[[], int]
    index: TableIndex
    store: "ChunkStore"
    restart_tables: Callable[[], int]
    delete_uploads: Callable[[], int]
    send_learns: Callable[[], int]
    # It returns 0.
    write_quotas: Callable[[], int] = lambda: 0
    delete_questions: Callable[[], int] = lambda: 0
    # It returns the number of events.
    announce_pages: Callable[[], int] = lambda: 0
    # They delete a portion and return its size.
    sweep_words: Callable[[], int] = lambda: 0
    sweep_rows: Callable[[], int] = lambda: 0
    daily: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    rows_per_portion: int = ROWS_PER_PORTION
    work: CurrentWork = field(default_factory=CurrentWork)

    @property
    def parts(self) -> dict[str, Callable[[], int]]:
        """The parts by name. Each returns how much it did, `deletions` how many Tables and projects are left."""
        return {
            "quotas": self.write_quotas,
            # A deleted project has events for its Tables, which are published afterwards.
            "deletions": self._delete_rows,
            "events": self.publish_events,
            "announcements": self.announce_pages,
            "restarted": self.restart_tables,
            "learns": self.send_learns,
            "uploads": self.delete_uploads,
            "questions": self.delete_questions,
            "words": partial(self._sweep, self.sweep_words),
            "rows": partial(self._sweep, self.sweep_rows),
            "completed": self._complete_tables,
            "namespaces": self._delete_namespaces,
            **self.daily,
        }

    def __call__(self) -> dict[str, int]:
        """Runs all parts, each in a limited time; returns what they did by name. The first error is raised at the end.

        A part that there is no time for has no result. Each minute begins with another part, so it is its turn later.
        """
        results: dict[str, int] = {}

        def run(part: tuple[str, Callable[[], int]]) -> None:
            name, act = part
            with suppress(OutOfTime), self.work.limited(LONGEST_PART):
                results[name] = act()

        run_all(rotated(list(self.parts.items()), self.clock() / 60), run)
        return results

    def _delete_rows(self) -> int:
        """Deletes what Tables, projects and index versions leave, in portions. Returns how many have more.

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
        return run_all(rotated(items, until / 60), act, is_over=lambda: self.clock() > until)
