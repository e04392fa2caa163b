"""The index is held against its sources: each minute a little, at night in full, by hand page by page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from sakuin.domain.reconciliation import Difference
from sakuin.errors import Invalid, SakuinError
from sakuin.ports.reconciliation import Walks
from sakuin.services.reconcile_materials import SETTLING, ReconcileMaterials, Walked
from sakuin.services.reconcile_tables import ReconcileTables

KINDS = ("keys", "pages", "words", "tables")
_TABLES_A_MINUTE = 10
_MINUTE_SECONDS = 10.0
# The function that runs it has two minutes; whoever died with a walk in hand gives it up after three.
_NIGHT_SECONDS = 60.0
_LEASE_SECONDS = 180
# Where there is always a line, a night asks for what is older than its messages are likely to be.
_LINE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a run found, and whether a whole walk still goes on."""

    differences: list[Difference] = field(default_factory=list)
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Any number of times, beside anything. `clock` gives seconds.

    `line_is_empty` says whether no message about a page waits for a worker: those in line have no row of work yet.
    """

    materials: ReconcileMaterials
    tables: ReconcileTables
    walks: Walks
    clock: Callable[[], float]
    line_is_empty: Callable[[], bool]

    def __call__(self, *, whole: bool) -> Reconciled:
        """Goes on with the whole walk that is under way, or begins one; else a little."""
        began = self.clock()
        turn = self.walks.take("whole", seconds=_LEASE_SECONDS, begin=whole)
        if turn is None:
            return Reconciled(self._a_little(began))
        found: list[Difference] = []
        after = turn.after
        settling = SETTLING if self.line_is_empty() else _LINE
        try:
            while True:
                kind, _, place = (after or f"{KINDS[0]}\t").partition("\t")
                left = began + _NIGHT_SECONDS - self.clock()
                walked = self.page(kind, place or None, dry_run=False, seconds=left, settling=settling)
                found += walked.differences
                after = _following(kind, walked.after)
                if after is None or self.clock() - began > _NIGHT_SECONDS:
                    break
        finally:
            self.walks.leave("whole", after)
        return Reconciled(found, after is not None)

    def page(
        self, kind: str, after: str | None, *, dry_run: bool, seconds: float, settling: timedelta = timedelta(0)
    ) -> Walked:
        """One page of one kind of walk, in about so many seconds; who asks by hand sees also what is on its way."""
        until = self.clock() + seconds
        if kind == "keys":
            return self.materials.keys(after, dry_run=dry_run, settling=settling)
        if kind == "pages":
            return self.materials.pages(after, dry_run=dry_run)
        if kind == "words":
            return self.materials.words(after, dry_run=dry_run)
        if kind == "tables":
            return self.tables.page(after, dry_run=dry_run, is_over=lambda: self.clock() > until)
        raise Invalid(f"There is nothing called {kind!r} to reconcile, only {', '.join(KINDS)}.")

    def _a_little(self, began: float) -> list[Difference]:
        """Some of each; a part that fails is raised after the other had its turn."""
        found: list[Difference] = []
        failures: list[SakuinError] = []
        for part in (partial(self._some_tables, began), self._some_keys):
            try:
                found += part()
            except SakuinError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return found

    def _some_tables(self, began: float) -> list[Difference]:
        return self.tables.counted(limit=_TABLES_A_MINUTE, is_over=lambda: self.clock() - began > _MINUTE_SECONDS)

    def _some_keys(self) -> list[Difference]:
        if not self.line_is_empty():
            return []
        turn = self.walks.take("round", seconds=_LEASE_SECONDS, begin=True)
        if turn is None:
            return []
        after = turn.after
        try:
            walked = self.materials.keys(after, dry_run=False)
            after = walked.after
        finally:
            self.walks.leave("round", after)
        return walked.differences


def _following(kind: str, after: str | None) -> str | None:
    """Where a whole walk goes on: within a kind, with the next one, or nowhere."""
    if after is not None:
        return f"{kind}\t{after}"
    rest = KINDS[KINDS.index(kind) + 1 :]
    return f"{rest[0]}\t" if rest else None
