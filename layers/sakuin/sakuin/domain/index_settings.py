"""What an index of pages and Tables is built with, and how a deployment's keepers name one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.domain.recipe import EmbeddingModel, Fingerprint, digest
from sakuin.domain.table_cut import TableCut
from sakuin.errors import NotFound

NEXT = "next"


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """All that a change of builds another index beside: settings of the deployment, and names of its code."""

    model: EmbeddingModel
    recipe: str
    analyzer: str
    cut: TableCut
    chunker: str

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        return digest(asdict(self))

    @property
    def knowledge(self) -> Fingerprint:
        """What its part over pages is built with."""
        return Fingerprint(self.model, self.recipe, self.analyzer)

    def as_json(self) -> dict[str, Any]:
        """The parts, as they are stored."""
        return asdict(self)

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> "IndexSettings":
        """What `as_json` gave."""
        named = {name: parts[name] for name in ("recipe", "analyzer", "chunker")}
        return cls(model=EmbeddingModel(**parts["model"]), cut=TableCut(**parts["cut"]), **named)


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """An index that every change is written to. One is `live`: it answers. `answered`: this one does, or did before.

    `tables` is the fingerprint of its part over Tables, `suffix` what their namespaces end in.
    """

    settings: IndexSettings
    live: bool
    answered: bool
    tables: str
    suffix: str


def live_index(kept: Sequence[KeptIndex]) -> KeptIndex | None:
    """The one that answers; None before the first is recorded."""
    return next((each for each in kept if each.live), None)


def named_index(kept: Sequence[KeptIndex], name: str | None) -> KeptIndex:
    """The index of a fingerprint, or of how one begins; `next`: the newest that never answered; None: the live one."""
    if name is None:
        found = [each for each in kept if each.live]
    elif name == NEXT:
        found = [each for each in kept if not each.answered][-1:]
    else:
        found = [each for each in kept if each.settings.id.startswith(name)]
    if len(found) != 1:
        known = ", ".join(each.settings.id for each in kept) or "none yet"
        raise NotFound(f"There is no index {name or 'that answers'!r}. There is: {known}")
    return found[0]
