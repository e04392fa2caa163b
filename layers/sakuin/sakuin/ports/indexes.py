"""The indexes that a deployment keeps, and which of them answers."""

from collections.abc import Sequence
from typing import Protocol

from sakuin.domain.index_settings import IndexSettings, KeptIndex
from sakuin.domain.index_state import IndexState


class Indexes(Protocol):
    """The indexes that a deployment keeps. Each call is one transaction."""

    def kept(self) -> Sequence[KeptIndex]:
        """All of them, the oldest first; none before the first is recorded."""

    def keep(self, settings: IndexSettings) -> None:
        """Records an index: from now on every change is written to it too. The first answers at once; twice is once."""

    def states(self) -> Sequence[IndexState]:
        """How far each is built, the oldest first."""

    def flip(self, fingerprint: str, *, force: bool = False) -> IndexState:
        """Lets this one answer, and keeps the one that did; of the one that answers it changes nothing.

        One that is not whole is `Conflict` unless forced, one that is not kept `NotFound`.
        """

    def drop(self, fingerprint: str, *, seconds: int) -> None:
        """Writes to it no more. The live one, and one that answered so lately, is `Conflict`."""

    def pages_to_build(self, recipe: str, *, seconds: int, limit: int) -> Sequence[str]:
        """Materials that an index with this recipe is not whole for, and that were not given out for so long."""

    def tables_to_build(self, tables: str, *, seconds: int, limit: int) -> Sequence[tuple[str, str]]:
        """`(project, table)` that this part over Tables was never asked for, or that were given up so long ago.

        With those that are under way at most `limit`; none of the live one.
        """

    def refresh(self, *, seconds: int) -> int:
        """Makes what tools say true of the live index, for so long at most; says of how many Tables."""

    def sweep(self, *, limit: int) -> int:
        """Removes vectors that no kept index compares, so many of a kind at most; says how many went."""
