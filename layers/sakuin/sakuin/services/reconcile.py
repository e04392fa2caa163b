"""Compares the index with its sources and repairs differences: at night in full, on command page by page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sakuin.domain.reconciliation import Difference
from sakuin.errors import Invalid, SakuinError
from sakuin.ports.reconciliation import Walks
from sakuin.services.reconcile_materials import SETTLING, ReconcileMaterials, Walked
from sakuin.services.reconcile_tables import ReconcileTables
from sakuin.services.whole_walk import NOWHERE, Place, places_of, text_of

KINDS = ("keys", "pages", "words", "learns", "tables")
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

    `line_is_empty` says whether no message about a page waits, and no worker has one: nothing is recorded of those.
    """

    materials: ReconcileMaterials
    tables: ReconcileTables
    walks: Walks
    clock: Callable[[], float]
    line_is_empty: Callable[[], bool]

    def __call__(self, *, whole: bool) -> Reconciled:
        """Continues the nightly run that is under way; with `whole`, begins one where none is."""
        began = self.clock()
        turn = self.walks.take("whole", seconds=_LEASE_SECONDS, begin=whole)
        if turn is None:
            return Reconciled()
        return self._some_of_all(places_of(turn.after, KINDS), began)

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
