"""Compares the index with its sources and repairs differences: in full each night, page by page on command."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from sakuin.errors import Invalid, SakuinError
from sakuin.knowledge.reconcile import GRACE, ReconcileMaterials
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.supabase.client import Client, answer, call
from sakuin.tables.reconcile import ReconcileVersions

KINDS = ("keys", "pages", "words", "learns", "tables")
# One attempt each minute. After so many the kind waits for the next night.
MAX_ATTEMPTS = 30
# The function has two minutes. If it dies, another run may continue after three.
RUN_SECONDS = 45.0
_LEASE_SECONDS = 180
# An empty list: started, no progress saved.
_NO_POSITIONS = "[]"
# If the queue is never empty, a night compares only keys that are older than their messages can be.
_QUEUE_AGE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Run:
    """A run under way, and where it continues; None at its beginning."""

    after: str | None


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the run has found: the number of differences, the first 500 of them, and the reasons of failed parts.

    `ended_at` is None while it is under way.
    """

    began_at: str
    ended_at: str | None
    found: int
    differences: tuple[Difference, ...]
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReconciliationRuns:
    """The lease, the progress and the findings of the nightly run, in Postgres."""

    client: Client

    def take(self, *, seconds: int, begin: bool = False) -> Run | None:
        """Takes the lease of the run for so long; None if another worker has it, or if there is no run.

        `begin`: begins a run if there is none.
        """
        row = call(self.client, "claim_reconciliation", {"p_seconds": seconds, "p_begin": begin})
        return Run(row["after"]) if row else None

    def save(self, after: str | None) -> None:
        """Saves the progress, from which another worker continues if this one dies."""
        answer(self.client.table("reconciliation_run").update({"after": after}).eq("single", True))

    def release(self, after: str | None, differences: Sequence[Difference] = (), failed: Sequence[str] = ()) -> None:
        """Saves the progress and the findings, and ends the lease; with None it ends the run."""
        arguments: dict[str, Any] = {
            "p_after": after,
            "p_differences": [asdict(one) for one in differences],
            "p_failed": list(failed),
        }
        call(self.client, "release_reconciliation", arguments)

    def report(self) -> RunReport | None:
        """Returns what the last or the present run has found; None before the first."""
        for row in answer(self.client.table("reconciliation_run").select("began_at,ended_at,found,differences,failed")):
            differences = tuple(Difference(**one) for one in row["differences"])
            return RunReport(row["began_at"], row["ended_at"], row["found"], differences, tuple(row["failed"]))
        return None


@dataclass(frozen=True, slots=True)
class Position:
    """Where the comparison of one kind continues, and the failed attempts there."""

    kind: str
    after: str | None = None
    attempts: int = 0

    def failed(self) -> "Position":
        """Returns the position with one more failed attempt."""
        return replace(self, attempts=self.attempts + 1)


def read_positions(text: str | None) -> list[Position]:
    """Returns the unfinished kinds, those with the fewest attempts first; all kinds at the beginning (None)."""
    if text is None:
        return [Position(kind) for kind in KINDS]
    return sorted((Position(*one) for one in json.loads(text)), key=lambda position: position.attempts)


def write_positions(positions: Sequence[Position]) -> str | None:
    """Returns the text for `read_positions`; None if no kind is left."""
    left = [[each.kind, each.after, each.attempts] for each in positions if each.attempts < MAX_ATTEMPTS]
    return json.dumps(left) if left else None


@dataclass(frozen=True, slots=True)
class ReconciliationResult:
    """The differences, whether the run continues later, and the reasons of failed parts, which are repeated."""

    differences: Sequence[Difference] = ()
    goes_on: bool = False
    failed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Reconciliation of all kinds. Repeated and concurrent runs are safe.

    `clock` gives seconds. `queue_is_empty` returns whether no message about a page waits or is processed.
    """

    materials: ReconcileMaterials
    tables: ReconcileVersions
    runs: ReconciliationRuns
    clock: Callable[[], float]
    queue_is_empty: Callable[[], bool]

    def __call__(self, *, whole: bool, seconds: float = RUN_SECONDS) -> ReconciliationResult:
        """Continues the nightly run for about so many seconds; with `whole` it begins one if there is none."""
        until = self.clock() + seconds
        run = self.runs.take(seconds=_LEASE_SECONDS, begin=whole)
        if run is None:
            return ReconciliationResult()
        return self._continue(read_positions(run.after), until)

    def _continue(self, positions: list[Position], until: float) -> ReconciliationResult:
        found: list[Difference] = []
        failed: list[str] = []
        later: list[Position] = []
        current = ""
        while positions and (not current or self.clock() <= until):
            position = positions.pop(0)
            if position.kind != current:
                # If this kind kills the worker, that counts as an attempt.
                self.runs.save(write_positions([position.failed(), *positions, *later]) or _NO_POSITIONS)
                current = position.kind
            try:
                page = self._page(position, until - self.clock())
            except SakuinError as error:
                failed.append(f"{position.kind}: {error}")
                later.append(position.failed())
                continue
            found += page.differences
            if page.after is not None:
                positions.insert(0, Position(position.kind, page.after))
        after = write_positions([*positions, *later])
        self.runs.release(after, found, failed)
        return ReconciliationResult(found, after is not None, failed)

    def _page(self, position: Position, seconds: float) -> ComparedPage:
        grace = GRACE
        if position.kind == "keys" and not self.queue_is_empty():
            grace = _QUEUE_AGE
        return self.page(position.kind, position.after, dry_run=False, seconds=seconds, grace=grace)

    def page(
        self, kind: str, after: str | None, *, dry_run: bool, seconds: float, grace: timedelta = timedelta(0)
    ) -> ComparedPage:
        """Compares one page of one kind, in about so many seconds. Newer changes than `grace` are ignored."""
        until = self.clock() + seconds
        if kind == "keys":
            return self.materials.keys(after, dry_run=dry_run, grace=grace)
        if kind == "pages":
            return self.materials.pages(after, dry_run=dry_run)
        if kind == "words":
            return self.materials.words(after, dry_run=dry_run)
        if kind == "learns":
            return self.materials.learns(after, dry_run=dry_run)
        if kind == "tables":
            return self.tables.page(after, dry_run=dry_run, is_over=lambda: self.clock() > until)
        raise Invalid(f"Unknown kind {kind!r}. Use {', '.join(KINDS)}.")
