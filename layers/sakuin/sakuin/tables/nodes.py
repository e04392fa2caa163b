"""The nodes and chunks of a Table: as they are indexed, and as rows of the search engine, with their names there."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sakuin.errors import Invalid
from sakuin.platform.embedding import Vector
from sakuin.retrieval.filters import Attributes
from sakuin.tables.json_pointer import pointer_hash
from sakuin.tables.scan import LargeString, content_hash

if TYPE_CHECKING:
    # Only scans cut texts.
    from sakuin.tables.chunking import ChunkText

DOC_ID_BYTES = 64

# The limits of turbopuffer.
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TABLE_ID = re.compile(r"[0-9A-Za-z-]{8,}")
_CONTENT_HASH = re.compile(r"[0-9a-f]{16,}")


def namespace(project_id: str, table_id: str, fingerprint_suffix: str = "") -> str:
    """Returns `project_{project_id}_table_{table_id}`, and `_{suffix}` for further index versions.

    The ids are UUIDs without `_`, so that the name is unique. Raises `Invalid` if it has over 128 characters.
    """
    name = f"project_{project_id}_table_{table_id}" + (f"_{fingerprint_suffix}" if fingerprint_suffix else "")
    if "_" in project_id + table_id or not (project_id and table_id) or not _NAMESPACE.fullmatch(name):
        raise Invalid(f"{name[:200]!r} cannot name a namespace. Use UUIDs, and a suffix of letters, digits, '-', '.'.")
    return name


def doc_id(table_id: str, json_pointer: str, content_hash: str, chunk_index: int) -> str:
    """Returns `{table, 8}_{hash of pointer, 16}_{content_hash, 16}_{chunk_index}`, the id of a chunk (max 64 bytes)."""
    if not _TABLE_ID.fullmatch(table_id) or not _CONTENT_HASH.fullmatch(content_hash) or chunk_index < 0:
        raise Invalid("A doc id needs the UUID of a Table, a SHA-256 in hex, and an index of zero or more.")
    name = f"{table_id[:8]}_{pointer_hash(json_pointer)}_{content_hash[:16]}_{chunk_index}"
    if len(name) > DOC_ID_BYTES:
        raise Invalid(f"The chunk index {chunk_index} is too large.")
    return name


@dataclass(frozen=True, slots=True)
class Scan:
    """The current state of a Table for a scan.

    `decision` is "scan", or why there is none: "gone", "empty" (no document), "superseded" (by a newer generation, or
    this page was scanned before). Then the other fields are empty. Either `data` (JSON text) or `data_key` is set.
    `scopes` are the json_paths of the enabled Tools. Strings of at least `chunk_threshold` code points are
    indexed. `check_store`: the records have to be compared with the store. `chunks_count`: what the last scan found.
    `entries` is the stored form of `EntryRules`; None: the Table has none.
    """

    decision: Literal["scan", "gone", "empty", "superseded"]
    project_id: str = ""
    generation: int = 0
    data: str | None = None
    data_key: str | None = None
    scopes: tuple[str, ...] = ()
    chunk_threshold: int = 0
    chunks_count: int = 0
    check_store: bool = False
    entries: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of planning: ids of chunks that are not stored, and nodes that are published without embedding."""

    missing: Sequence[str]
    published: Sequence["PublishedNode"]


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """One version of a large string with its chunks; none before it is cut. `title`: what its object says of it.

    `attributes` are those of its entry; None outside of entries.
    """

    pointer_hash: str
    json_pointer: str
    content_hash: str
    title: str
    attributes: Attributes | None = None
    chunks: "tuple[ChunkText, ...]" = ()

    @classmethod
    def of(cls, string: LargeString, title: str, attributes: Attributes | None = None) -> "NodeVersion":
        """Returns the version of a string, not cut."""
        pointer = string.json_pointer
        return cls(pointer_hash(pointer), pointer, content_hash(string.text), title, attributes)


@dataclass(frozen=True, slots=True)
class WantedChunk:
    """A chunk to embed and store. `generation` is that of its node. `counts_terms`: its terms have to be counted."""

    id: str
    json_pointer: str
    content_hash: str
    chunk_index: int
    chunk_text: str
    title: str
    generation: int
    counts_terms: bool
    attributes: Attributes | None = None


@dataclass(frozen=True, slots=True)
class StoredChunkRef:
    """A stored chunk, with its words to count: `counted_words`."""

    id: str
    namespace: str
    doc_id: str
    readings: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class PublishedNode:
    """A node whose version is searchable, while rows of older versions may still be in the store.

    `content_hash` None: it has no searchable version.
    """

    pointer_hash: str
    content_hash: str | None
    generation: int


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The result of storing chunks. `unwanted` are doc ids that a newer generation no longer has."""

    table_exists: bool
    unwanted: tuple[str, ...]
    published: tuple[PublishedNode, ...]


@dataclass(frozen=True, slots=True)
class UnindexedTable:
    """A Table whose chunks are all stored, the last ones at `stored_at`. The store may not have indexed them yet."""

    table_id: str
    fingerprint: str
    namespace: str
    stored_at: str


@dataclass(frozen=True, slots=True)
class Completion:
    """Whether a Table is complete. `unindexed`: it only waits until the store has indexed it."""

    ready: bool
    unindexed: UnindexedTable | None = None


@dataclass(frozen=True, slots=True)
class RemovedNodes:
    """The nodes to sweep, and `gone`: the other nodes to remove. `unindexed`: as of a `Completion`."""

    nodes: Sequence[PublishedNode]
    gone: Sequence[str]
    unindexed: UnindexedTable | None


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """All recorded chunks of a Table: chunk ids by doc id of those `stored`, and the doc ids of those `coming`.

    `planned`: the scan of the current `generation` is finished, so that no other rows can be wanted. `unscanned`: the
    records of its scans are lost.
    """

    generation: int
    planned: bool
    stored: Mapping[str, str]
    coming: Collection[str]
    unscanned: bool = False


@dataclass(frozen=True, slots=True)
class DeletedPortion:
    """The deleted rows, and how many Tables and projects still have some to delete."""

    rows: int
    left: int


@dataclass(frozen=True, slots=True)
class StoredChunkRow:
    """One chunk in the search engine.

    `ancestors` are 16-hex-digit hashes of pointers, from the root to the node itself. `vectors` are those of its
    passages.
    """

    doc_id: str
    json_pointer: str
    ancestors: tuple[str, ...]
    content_hash: str
    chunk_index: int
    generation: int
    content: str
    terms: tuple[str, ...]
    vectors: Sequence[Vector]
    attributes: Attributes | None = None


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that a search found, by meaning or by words: its rank in each leg, from 1, None if it is not in it.

    `cosine` is that of its nearest passage with the question, None without a vector of the question. `counts`: how
    often it has each of the question's terms, without those that it does not have, of `terms_count` terms.
    """

    doc_id: str
    nearest_rank: int | None
    matching_rank: int | None
    cosine: float | None
    counts: Mapping[str, int]
    terms_count: int


@dataclass(frozen=True, slots=True)
class Found:
    """The chunks that a search found, and the cosines of the question with a sample."""

    chunks: tuple[FoundChunk, ...] = ()
    cosines: tuple[float, ...] = ()
