"""Compares the index with its sources and repairs differences: at night in full, on command page by page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sakuin.errors import Invalid, SakuinError
from sakuin.knowledge.reconcile import GRACE, ReconcileMaterials
from sakuin.platform.reconciliation import ComparedPage, Difference
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.reconcile import ReconcileTables


@dataclass(frozen=True, slots=True)
class Run:
    """Where a walk goes on; None at its beginning."""

    after: str | None


@dataclass(frozen=True, slots=True)
class ReconciliationRuns:
    """Who walks, and how far he came. Walks have names."""

    client: Client

    def take(self, name: str, *, seconds: int, begin: bool = False) -> Run | None:
        """Takes a walk for so long; None while somebody else has it, or when none is under way.

        `begin`: where none is under way, one begins.
        """
        row = call(self.client, "claim_reconciliation", {"p_name": name, "p_seconds": seconds, "p_begin": begin})
        return Run(row["after"]) if row else None

    def keep(self, name: str, after: str | None) -> None:
        """Notes how far it came, and keeps it: whoever takes it after a death goes on from here."""
        call(self.client, "save_reconciliation_progress", {"p_name": name, "p_after": after})

    def leave(self, name: str, after: str | None) -> None:
        """Gives it back where it stands; None: it came to its end."""
        call(self.client, "release_reconciliation", {"p_name": name, "p_after": after})


# A minute apart: what lasts longer is not waited for, and the next night begins anew.
MOST_TRIES = 30

# Under way, with nothing left to do: None would be the beginning.
NOWHERE = "[]"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the walk of one kind goes on; how often it was tried from there in vain."""

    kind: str
    after: str | None = None
    tries: int = 0

    def tried(self) -> "Place":
        """The same, once more in vain."""
        return replace(self, tries=self.tries + 1)


def places_of(text: str | None, kinds: Sequence[str]) -> list[Place]:
    """The kinds that are not at their end, those first that were tried least; at the beginning (None) all of them."""
    if text is None:
        return [Place(kind) for kind in kinds]
    return sorted((Place(*one) for one in json.loads(text)), key=lambda place: place.tries)


def text_of(places: Sequence[Place]) -> str | None:
    """What `places_of` reads; None where nothing is left, or no longer tried."""
    left = [[place.kind, place.after, place.tries] for place in places if place.tries < MOST_TRIES]
    return json.dumps(left) if left else None


KINDS = ("keys", "pages", "words", "learns", "tables")

# The function that runs it has two minutes; whoever died with a walk in hand gives it up after three.
_NIGHT_SECONDS = 45.0

_LEASE_SECONDS = 180

# Where there is always a line, a night asks for what is older than its messages are likely to be.
_LINE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ReconciliationResult:
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
    walks: ReconciliationRuns
    clock: Callable[[], float]
    line_is_empty: Callable[[], bool]

    def __call__(self, *, whole: bool) -> ReconciliationResult:
        """Continues the nightly run that is under way; with `whole`, begins one where none is."""
        began = self.clock()
        turn = self.walks.take("whole", seconds=_LEASE_SECONDS, begin=whole)
        if turn is None:
            return ReconciliationResult()
        return self._some_of_all(places_of(turn.after, KINDS), began)

    def _some_of_all(self, places: list[Place], began: float) -> ReconciliationResult:
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
        return ReconciliationResult(found, after is not None, failed)

    def _a_page(self, place: Place, seconds: float) -> ComparedPage:
        grace = GRACE
        if place.kind == "keys" and not self.line_is_empty():
            grace = _LINE
        return self.page(place.kind, place.after, dry_run=False, seconds=seconds, grace=grace)

    def page(
        self, kind: str, after: str | None, *, dry_run: bool, seconds: float, grace: timedelta = timedelta(0)
    ) -> ComparedPage:
        """One page of one kind of walk, in about so many seconds; who asks by hand sees also what is on its way."""
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
        raise Invalid(f"There is nothing called {kind!r} to reconcile, only {', '.join(KINDS)}.")
