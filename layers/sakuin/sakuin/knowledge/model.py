"""The materials, their versions and their chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.knowledge.page import ChunkType
from sakuin.language.model import AnalyzedQuery, IndexedWords

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

    understood: AnalyzedQuery
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


SEQUENCER_LENGTH = 64


def padded(sequencer: str) -> str:
    """An S3 sequencer made comparable as text.

    Sequencers of one key are hexadecimal strings of different lengths: pad the shorter one with zeros on the
    right, then compare (Amazon S3 User Guide, "Event message structure").
    """
    return sequencer.upper().ljust(SEQUENCER_LENGTH, "0")


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one S3 object. `sequencer` is padded; it orders the events of one key."""

    bucket: str
    key: str
    version_id: str | None
    sequencer: str


Status = Literal["ready", "failed", "deleted"]


# applied      the index now says what this version says
# failed       the version cannot be read: its reason is kept, the last good one stays searchable
# superseded   a newer version of the same key was first
# waiting      another key of the same material owns it
# conflict     the row changed since it was read: look again
Outcome = Literal["applied", "failed", "superseded", "waiting", "conflict"]


@dataclass(frozen=True, slots=True)
class MaterialState:
    """What the index holds of a material.

    `source` is the newest version heard of, `indexed_version_id` the one that is searchable.
    `generation` counts the changes; a change without a sequencer names the one it was made from.
    """

    material: str
    source: Source
    status: Status
    error: str | None
    generation: int
    indexed_version_id: str | None
    fingerprint: str | None
    chunks_count: int
    indexed_at: str | None


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """What became of a version. `next_owner` is a key that waited for this material and may now have it."""

    outcome: Outcome
    generation: int
    next_owner: Source | None = None


@dataclass(frozen=True, slots=True)
class UploadResult:
    """What became of one uploaded version, for the one who waits for it."""

    key: str
    version_id: str
    outcome: Outcome
    reason: str | None


@dataclass(frozen=True, slots=True)
class PageResult:
    """What became of a version of a page, and its cost: `embedded` texts had no vector yet.

    `provisional`: some `learns` wait for a language model that was late.
    """

    applied: ChangeResult
    chunks: int = 0
    embedded: int = 0
    provisional: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """What an event led to; `ignored` says why nothing had to be done, `asked` how many pages are indexed again."""

    material: str | None
    result: PageResult | None = None
    ignored: str | None = None
    asked: int = 0


@dataclass(frozen=True, slots=True)
class PageChange:
    """What a version makes of a material: its chunks, why it cannot be read (`error`), or its removal (`deleted`).

    `source` is None for a change that no upload caused. A deletion is remembered, so that a late version does not
    revive the material.
    """

    material: str
    source: Source | None
    chunks: Sequence[KnowledgeChunk] | None = None
    fingerprint: str | None = None
    error: str | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class MaterialPage:
    """One page of a list, and where the next begins (None at the end)."""

    items: Sequence[MaterialState]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """What the index knows of a key.

    An `owner` has a material, a `waiting` one waits for it (`free`: its owner was deleted), a `file` lies beside the
    pages (`free`: it was read by another analyzer). `version_id` is the newest version heard of.
    `young`: that changed just now.
    """

    key: str
    kind: Literal["owner", "waiting", "file"]
    version_id: str | None
    gone: bool
    free: bool = False
    young: bool = False
