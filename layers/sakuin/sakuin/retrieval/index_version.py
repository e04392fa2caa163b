"""What an index of pages and Tables is built with, how far it is built, and whether it answers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.errors import NotFound
from sakuin.platform.embedding import EmbeddingModel

# A change of either builds every chunk again; the analyzer's code is `sakuin.language`.
TEXT_TEMPLATE = "title+headings+learns+content/1"

ANALYZER = "sudachi-small-A+kana3+notation+glossary/2"


@dataclass(frozen=True, slots=True)
class PageIndexVersion:
    """What an index was built with. Only vectors of the same `space` are ever compared."""

    model: EmbeddingModel
    recipe: str
    analyzer: str

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        return digest(asdict(self))

    @property
    def space(self) -> str:
        """16 hex digits of what makes vectors comparable: all but the analyzer."""
        model = self.model
        parts = (model.name, str(model.dimensions), model.query_prefix, model.passage_prefix, self.recipe)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def digest(parts: Mapping[str, object]) -> str:
    """16 hex digits, the same for the same parts in any order."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


# Part of an index's fingerprint: another way of cutting is another name.
CHUNKER = "sentences+graphemes/1"


@dataclass(frozen=True, slots=True)
class TableCut:
    """Which strings are large, and how large their chunks are, in code points."""

    threshold: int = 1000
    chunk_size: int = 1000
    overlap: int = 150


NEXT = "next"


@dataclass(frozen=True, slots=True)
class IndexVersion:
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
    def knowledge(self) -> PageIndexVersion:
        """What its part over pages is built with."""
        return PageIndexVersion(self.model, self.recipe, self.analyzer)

    def as_json(self) -> dict[str, Any]:
        """The parts, as they are stored."""
        return asdict(self)

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> "IndexVersion":
        """What `as_json` gave."""
        named = {name: parts[name] for name in ("recipe", "analyzer", "chunker")}
        return cls(model=EmbeddingModel(**parts["model"]), cut=TableCut(**parts["cut"]), **named)


@dataclass(frozen=True, slots=True)
class StoredIndexVersion:
    """An index that every change is written to. One is `live`: it answers. `answered`: this one does, or did before.

    `tables` is the fingerprint of its part over Tables, `suffix` what their namespaces end in.
    """

    settings: IndexVersion
    live: bool
    answered: bool
    tables: str
    suffix: str


def live_version(kept: Sequence[StoredIndexVersion]) -> StoredIndexVersion | None:
    """The one that answers; None before the first is recorded."""
    return next((each for each in kept if each.live), None)


def find_version(kept: Sequence[StoredIndexVersion], name: str | None) -> StoredIndexVersion:
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


@dataclass(frozen=True, slots=True)
class BuiltPart:
    """How far an index is built, of pages or of Tables: `missing` of `total`, and why, of the first ten by name."""

    total: int
    missing: int
    named: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class IndexVersionState:
    """An index as its keepers see it; moments are ISO 8601. `live_since` None: it never answered."""

    settings: IndexVersion
    live: bool
    created_at: str
    live_since: str | None
    retired_at: str | None
    pages: BuiltPart
    tables: BuiltPart

    @property
    def is_whole(self) -> bool:
        """Whether it would answer as much as the live one does."""
        return not self.pages.missing and not self.tables.missing


@dataclass(frozen=True, slots=True)
class TableIndexVersion:
    """Everything that changes its chunks, vectors or words. Only vectors of one `space` are ever compared."""

    model: EmbeddingModel
    cut: TableCut
    chunker: str = CHUNKER
    analyzer: str = ANALYZER

    @property
    def id(self) -> str:
        """16 hex digits, the same for the same parts everywhere."""
        return digest(asdict(self))

    @property
    def space(self) -> str:
        """16 hex digits of what makes vectors comparable: of a text that stays, the vector does too."""
        return digest(asdict(self.model))


def tables_of(settings: IndexVersion) -> TableIndexVersion:
    """What an index's part over Tables is built with."""
    return TableIndexVersion(settings.model, settings.cut, settings.chunker, settings.analyzer)
