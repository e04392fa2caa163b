"""What the records claim, as it is held against bucket and store, and where each such walk stands."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.domain.reconciliation import RecordedObject


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a walk goes on; None at its beginning."""

    after: str | None


class Walks(Protocol):
    """Who walks, and how far he came. Walks have names."""

    def take(self, name: str, *, seconds: int, begin: bool = False) -> Turn | None:
        """Takes a walk for so long; None while somebody else has it, or when none is under way.

        `begin`: where none is under way, one begins.
        """

    def keep(self, name: str, after: str | None) -> None:
        """Notes how far it came, and keeps it: whoever takes it after a death goes on from here."""

    def leave(self, name: str, after: str | None) -> None:
        """Gives it back where it stands; None: it came to its end."""


class LibraryRecords(Protocol):
    """What is known of keys and pages."""

    def objects(self, after: str, *, limit: int, settling: float = 0) -> Sequence[RecordedObject]:
        """What is known of the keys after `after`, in the order of their bytes, deleted ones among them.

        Young is what changed in the last `settling` seconds.
        """

    def pages(self) -> int:
        """How many keys of pages are known that were not deleted."""

    def broken(self, after: str, *, limit: int) -> tuple[Sequence[tuple[str, str]], str | None]:
        """`(material, why)` of those, among `limit` after `after`, whose chunks and words do not fit; and the next."""

    def provisional(self, after: str, *, limit: int) -> tuple[Sequence[str], str | None]:
        """Those, among `limit` after `after`, whose `learns` wait for a language model and that nobody works on; and
        the next."""

    def mend(self, material: str) -> None:
        """Finds a page by all its words again, as far as they are recorded; the rest is done by applying it again."""

    def sweep_words(self, after: str, *, limit: int, dry_run: bool) -> tuple[int, str | None]:
        """Forgets those of `limit` readings after `after` that no page has any more; how many, and the next."""


@dataclass(frozen=True, slots=True)
class ClaimedTable:
    """What the records claim of a Table, at a glance: `stored` rows in the store.

    `settled`: nobody has anything to do for it. `unbuilt`: a tool says ready, and what it says is not there.
    """

    project_id: str
    table_id: str
    stored: int
    settled: bool
    unbuilt: bool


class TableClaims(Protocol):
    """What the records say that the store holds."""

    def after(self, table_id: str | None, *, limit: int) -> Sequence[str]:
        """The ids of Tables after this one, in order."""

    def claimed(self, table_ids: Collection[str]) -> Sequence[ClaimedTable]:
        """What is claimed of these Tables, by id; one that is gone is left out. Many large ones are `Unavailable`."""

    def catch_up(self, table_id: str, generation: int) -> None:
        """Wants a Table anew after this generation; if it is there already, nothing happens."""
