"""The index is held against its sources: each minute a little, at night in full, by hand page by page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sakuin.domain.reconciliation import Difference
from sakuin.errors import Invalid, SakuinError
from sakuin.ports.reconciliation import Walks
from sakuin.services.reconcile_materials import SETTLING, ReconcileMaterials, Walked
from sakuin.services.reconcile_tables import ReconcileTables
from sakuin.services.whole_walk import NOWHERE, Place, places_of, text_of

KINDS = ("keys", "pages", "words", "learns", "tables")
_TABLES_A_MINUTE = 10
_MINUTE_SECONDS = 10.0
# The function that runs it has two minutes; whoever died with a walk in hand gives it up after three.
_NIGHT_SECONDS = 45.0
_LEASE_SECONDS = 180
# Where there is always a line, a night asks for what is older than its messages are likely to be.
_LINE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a run found, whether a whole walk still goes on, and why parts of it `failed`: those come again."""

    differences: Sequence[Difference] = ()
    goes_on: bool = False
    failed: Sequence[str] = ()


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
        """Goes on with the whole walk that is under way, or begins one; else a little, and also where that fails."""
        began = self.clock()
        turn = self.walks.take("whole", seconds=_LEASE_SECONDS, begin=whole)
        if turn is None:
            return self._a_little()
        night = self._some_of_all(places_of(turn.after, KINDS), began)
        if not night.failed:
            return night
        little = self._a_little()
        return Reconciled([*night.differences, *little.differences], night.goes_on, [*night.failed, *little.failed])

    def _some_of_all(self, places: list[Place], began: float) -> Reconciled:
        found: list[Difference] = []
        failed: list[str] = []
        later: list[Place] = []
        tried = ""
        while places and (not tried or self.clock() - began <= _NIGHT_SECONDS):
            place = places.pop(0)
            if place.kind != tried:
                # Whoever dies of it has tried it, too.
                self.walks.keep("whole", text_of([place.tried(), *places, *later]) or NOWHERE)
                tried = place.kind
            try:
                walked = self._a_page(place, began + _NIGHT_SECONDS - self.clock())
            except SakuinError as error:
                failed.append(f"{place.kind}: {error}")
                later.append(place.tried())
                continue
            found += walked.differences
            if walked.after is not None:
                places.insert(0, Place(place.kind, walked.after))
        after = text_of([*places, *later])
        self.walks.leave("whole", after)
        return Reconciled(found, after is not None, failed)

    def _a_page(self, place: Place, seconds: float) -> Walked:
        settling = SETTLING
        if place.kind == "keys" and not self.line_is_empty():
            settling = _LINE
        return self.page(place.kind, place.after, dry_run=False, seconds=seconds, settling=settling)

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
        if kind == "learns":
            return self.materials.learns(after, dry_run=dry_run)
        if kind == "tables":
            return self.tables.page(after, dry_run=dry_run, is_over=lambda: self.clock() > until)
        raise Invalid(f"There is nothing called {kind!r} to reconcile, only {', '.join(KINDS)}.")

    def _a_little(self) -> Reconciled:
        """Some of each."""
        found: list[Difference] = []
        failed: list[str] = []
        for part in (partial(self._some_tables, self.clock()), self._some_keys):
            try:
                found += part()
            except SakuinError as error:
                failed.append(str(error))
        return Reconciled(found, failed=failed)

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
