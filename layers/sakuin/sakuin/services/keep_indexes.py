"""Keepers look at the indexes, let another one answer, and give one up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sakuin.domain.index_settings import IndexSettings, named_index
from sakuin.domain.index_state import IndexState
from sakuin.errors import Conflict
from sakuin.ports.indexes import Indexes

# A worker may still ask the index that it knew, for seconds.
_SECONDS_AFTER_A_FLIP = 60


@dataclass(frozen=True, slots=True)
class KeepIndexes:
    """`is_deployed` says whether an index is what the present settings make: it would be built again."""

    indexes: Indexes
    is_deployed: Callable[[IndexSettings], bool]

    def states(self) -> Sequence[IndexState]:
        """How far each is built, the oldest first."""
        return self.indexes.states()

    def flip(self, name: str, *, force: bool = False) -> IndexState:
        """Lets the named index answer."""
        return self.indexes.flip(named_index(self.indexes.kept(), name).settings.id, force=force)

    def drop(self, name: str) -> str:
        """Gives the named index up; gives its fingerprint."""
        found = named_index(self.indexes.kept(), name)
        fingerprint = found.settings.id
        if self.is_deployed(found.settings) and not found.live:
            raise Conflict(f"{fingerprint} is what the deployed settings make. Deploy other settings first")
        self.indexes.drop(fingerprint, seconds=_SECONDS_AFTER_A_FLIP)
        return fingerprint
