"""Knowledge chunks: what is stored of an explanation, and what a search answers."""

from dataclasses import dataclass
from typing import Literal

from sakuin.domain.page import ChunkType

# author       from learns.yml
# model        from a language model
# provisional  from the deterministic writer, because the model was late
# written      from the deterministic writer
LearnsSource = Literal["author", "model", "provisional", "written"]


@dataclass(frozen=True, slots=True)
class Learns:
    """3-5 things a reader can do afterwards, and where they come from.

    `given` are an author's items as they stand in the file, for validation.
    """

    items: tuple[str, ...]
    source: LearnsSource
    given: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeChunk:
    """One explanation as it is stored; `id` is `material#anchor`.

    `text_hash` names the vector of the embedded text; `content_hash` is SHA-256 hex of `content`.
    `terms` and `title_terms` count the analyzer's words of everything and of the title with `learns`.
    """

    id: str
    material: str
    anchor: str
    title: str
    content: str
    learns: Learns
    type: ChunkType
    category: str | None
    level: str | None
    prerequisites: tuple[str, ...]
    position: int
    content_hash: str
    text_hash: str
    illustrates: tuple[str, ...]
    terms: dict[str, int]
    title_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks a search or a list may see; None lets everything through."""

    type: ChunkType | None = None
    category: str | None = None
    level: str | None = None
    material: str | None = None


EVERYTHING = Filters()


@dataclass(frozen=True, slots=True)
class Match:
    """One chunk that a search found. `similarity` is calibrated, 0-1."""

    id: str
    material: str
    anchor: str
    title: str
    content: str
    learns: tuple[str, ...]
    type: ChunkType
    similarity: float


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk in full, as `get_chunk_by_id` gives it."""

    id: str
    material: str
    anchor: str
    title: str
    content: str
    learns: tuple[str, ...]
    type: ChunkType
    category: str | None
    level: str | None
    prerequisites: tuple[str, ...]
    position: int
    content_hash: str
    generation: int


@dataclass(frozen=True, slots=True)
class Concept:
    """One line of the list of concepts."""

    id: str
    title: str
    type: ChunkType
    material: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One result as an agent reads it: `url` lands on the element, `learns` say what is learnt there."""

    id: str
    url: str
    title: str
    learns: tuple[str, ...]
    excerpt: str
    similarity: float
    type: ChunkType
    material: str


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The answer to a question. With `no_good_match` there are no results, and `suggestions` may say もしかして."""

    query: str
    results: tuple[Hit, ...]
    no_good_match: bool
    suggestions: tuple[str, ...] = ()
