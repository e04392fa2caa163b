"""The indexes of a deployment, as its keeper sees and changes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.domain.index_state import IndexState
from sakuin.ports.indexes import DeployedIndexes


@dataclass(frozen=True, slots=True)
class IndexesFromAfar:
    """Asks a deployment as its keeper. A name is a fingerprint, its beginning, or `next`."""

    deployed: DeployedIndexes

    def states(self) -> Sequence[IndexState]:
        """How far each is built, the oldest first."""
        return self.deployed.states()

    def flip(self, name: str, *, force: bool) -> IndexState:
        """Lets the named index answer; one that is not whole is `Conflict` unless forced."""
        return self.deployed.flip(name, force=force)

    def drop(self, name: str) -> str:
        """Gives the named index up; gives its fingerprint."""
        return self.deployed.drop(name)
