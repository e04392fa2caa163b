"""Knowledge chunks: what is stored of an explanation, and what a search answers."""

from dataclasses import dataclass
from typing import Literal

from sakuin.domain.language.indexed_words import IndexedWords
from sakuin.domain.language.question import Understood
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
    `words` are what it can be found by, and how its own words are read.
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
    words: IndexedWords


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
    """One chunk that a search found, and why it stands where it stands.

    `similarity` is calibrated, 0-1. `cosine` is None where vectors were not compared, and `z` is then 0.
    `nearest_rank` and `matching_rank` are its places among all by meaning and by words, from 1; None where a leg
    did not come to it. `matched` are the terms of the question's words that it has, the weightiest first.
    """

    id: str
    material: str
    anchor: str
    title: str
    content: str
    learns: tuple[str, ...]
    type: ChunkType
    similarity: float
    cosine: float | None
    z: float
    words: float
    readings: float
    evidence: float
    nearest_rank: int | None
    matching_rank: int | None
    matched: tuple[str, ...]


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
    """One result as an agent reads it: `url` lands on the element, `learns` say what is learnt there.

    `matched` are the question's words as they stand there, the weightiest first.
    """

    id: str
    url: str
    title: str
    learns: tuple[str, ...]
    excerpt: str
    similarity: float
    type: ChunkType
    material: str
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The answer to a question. With `no_good_match` there are no results, and `suggestions` may say もしかして.

    `degraded` says in a sentence what the search had to do without.
    """

    understood: Understood
    results: tuple[Hit, ...]
    no_good_match: bool
    suggestions: tuple[str, ...] = ()
    degraded: str | None = None

    @property
    def query(self) -> str:
        """The question as it was asked."""
        return self.understood.query

    @property
    def understood_as(self) -> str | None:
        """What was searched for instead, where that is not what was asked."""
        # A question that is too long is cut, not rewritten.
        return None if self.query.startswith(self.understood.text) else self.understood.text
