"""Index versions: what an index of pages and Tables is built with, how far it is built, and whether it is live."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sakuin.errors import NotFound
from sakuin.platform.embedding import EmbeddingModel

# Names of the code that makes texts, terms and chunks: a change of that code needs another name, which makes another
# index version. The analyzer's code is `sakuin.language`.
TEXT_TEMPLATE = "learns|title+headings+passage/4"
ANALYZER = "sudachi-small-A+grams23+notation+spelled/10"
# The default of `Vocabulary` in `template.yaml`.
DEFAULT_VOCABULARY = "school-mathematics"
CHUNKER = "sentences+graphemes+passages+titles/2"

# Where explanations are searched. Another store is another index version, which is built beside this one.
KnowledgeStore = Literal["postgres", "turbopuffer"]

# The name of the newest version that was never live.
NEXT = "next"


@dataclass(frozen=True, slots=True)
class TableCut:
    """The length of chunks and their overlap, in code points."""

    chunk_size: int = 1000
    overlap: int = 150


@dataclass(frozen=True, slots=True)
class PageIndexVersion:
    """The part of an index version that applies to pages. Only vectors of the same `space` are compared.

    `vocabulary`: the name or id of the vocabulary, empty for none. Tables have none.
    """

    model: EmbeddingModel
    text_template: str
    analyzer: str
    vocabulary: str = DEFAULT_VOCABULARY
    store: KnowledgeStore = "postgres"

    @property
    def id(self) -> str:
        """16 hex digits that identify the version."""
        parts = {"model": asdict(self.model), "recipe": self.text_template, "analyzer": self.analyzer}
        return _digest({**parts, "vocabulary": self.vocabulary, **_named(self.store)})

    @property
    def space(self) -> str:
        """The name of the store, unless it is Postgres, and 16 hex digits of all that changes vectors."""
        model = self.model
        parts = (model.name, str(model.dimensions), model.query_prefix, model.passage_prefix, self.text_template)
        digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
        return digest if self.store == "postgres" else f"{self.store}-{digest}"

    def has_vectors_of(self, other: "PageIndexVersion") -> bool:
        """Returns whether the vectors are the same, in whichever store."""
        return replace(self, store=other.store).space == other.space


@dataclass(frozen=True, slots=True)
class TableIndexVersion:
    """The part of an index version that applies to Tables. Only vectors of the same `space` are compared."""

    model: EmbeddingModel
    cut: TableCut
    chunker: str = CHUNKER
    analyzer: str = ANALYZER

    @property
    def id(self) -> str:
        """16 hex digits that identify the version."""
        return _digest(asdict(self))

    @property
    def space(self) -> str:
        """16 hex digits of all that changes the vectors of a text."""
        return _digest(asdict(self.model) | {"chunker": self.chunker})


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """The settings and code names of an index. Any other value is another version, built beside this one."""

    model: EmbeddingModel
    text_template: str
    analyzer: str
    cut: TableCut
    chunker: str
    vocabulary: str = DEFAULT_VOCABULARY
    store: KnowledgeStore = "postgres"

    @property
    def id(self) -> str:
        """16 hex digits that identify the version."""
        return _digest(self.as_json())

    @property
    def pages(self) -> PageIndexVersion:
        """The part that applies to pages."""
        return PageIndexVersion(self.model, self.text_template, self.analyzer, self.vocabulary, self.store)

    @property
    def tables(self) -> TableIndexVersion:
        """The part that applies to Tables."""
        return TableIndexVersion(self.model, self.cut, self.chunker, self.analyzer)

    def as_json(self) -> dict[str, Any]:
        """Returns the parts as they are stored and shown; the text template is `recipe` there."""
        return {
            "model": asdict(self.model),
            "recipe": self.text_template,
            "analyzer": self.analyzer,
            "cut": asdict(self.cut),
            "chunker": self.chunker,
            "vocabulary": self.vocabulary,
            **_named(self.store),
        }

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> "IndexVersion":
        """Returns the version whose `as_json` gave the parts."""
        model, cut = EmbeddingModel(**parts["model"]), TableCut(**parts["cut"])
        vocabulary, store = parts["vocabulary"], parts.get("store", "postgres")
        return cls(model, parts["recipe"], parts["analyzer"], cut, parts["chunker"], vocabulary, store)


@dataclass(frozen=True, slots=True)
class StoredIndexVersion:
    """An index version that every change is written to. One is `live`: searches use it.

    `answered`: is or was live. `tables`: the id of its part for Tables. `suffix`: the suffix of its namespaces.
    """

    settings: IndexVersion
    live: bool
    answered: bool
    tables: str
    suffix: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "StoredIndexVersion":
        """Returns the version of a row of `index_versions` in SQL."""
        return cls(IndexVersion.from_json(row["parts"]), row["live"], row["answered"], row["tables"], row["suffix"])


def live_version(kept: Sequence[StoredIndexVersion]) -> StoredIndexVersion | None:
    """Returns the live version; None before the first version is stored."""
    return next((each for each in kept if each.live), None)


def recorded_versions(record: Mapping[str, Any] | None) -> list[StoredIndexVersion]:
    """Returns the index versions of what `begin_work` in SQL returns; none without it, or before the first is added."""
    return [StoredIndexVersion.of(row) for row in record["index_versions"]] if record else []


def version_of_tables(versions: Sequence[StoredIndexVersion], tables: str | None) -> StoredIndexVersion | None:
    """Returns a version whose part for Tables has this id, None if it is gone; without an id the live one."""
    return next((each for each in versions if each.tables == tables), None) if tables else live_version(versions)


def find_version(versions: Sequence[StoredIndexVersion], name: str | None) -> StoredIndexVersion:
    """Returns the version whose id begins with `name`; `next` is the newest never live, None the live one.

    Raises `NotFound` if there is not exactly one.
    """
    if name is None:
        matches = [each for each in versions if each.live]
    elif name == NEXT:
        matches = [each for each in versions if not each.answered][-1:]
    else:
        matches = [each for each in versions if each.settings.id.startswith(name)]
    if len(matches) != 1:
        ids = ", ".join(each.settings.id for each in versions) or "none yet"
        raise NotFound(f"There is no index {name or 'that answers'!r}. There is: {ids}")
    return matches[0]


def _named(store: KnowledgeStore) -> dict[str, str]:
    return {} if store == "postgres" else {"store": store}


def _digest(parts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
