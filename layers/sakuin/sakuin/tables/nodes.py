"""The nodes and chunks of a Table, as they are indexed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.tables.chunking import ChunkText


@dataclass(frozen=True, slots=True)
class Scan:
    """What a worker scans: a Table as it is now.

    `decision`: "scan", or why not: "gone", "empty" (no document has arrived), "superseded" (by a newer generation, or
    this page was scanned already). Then the rest is empty. Either `data` (JSON text) or `data_key` is set.
    `scopes` are the json_paths of the enabled Tools. `check_store`: what is recorded as stored has to be compared with
    the store.
    """

    decision: Literal["scan", "gone", "empty", "superseded"]
    project_id: str = ""
    generation: int = 0
    data: str | None = None
    data_key: str | None = None
    scopes: tuple[str, ...] = ()
    check_store: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a page of the scan led to: ids of the chunks that the store does not have, and nodes that answer already."""

    missing: Sequence[str]
    published: Sequence["PublishedNode"]


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """One version of a large string with its chunks."""

    pointer_hash: str
    json_pointer: str
    content_hash: str
    chunks: tuple[ChunkText, ...]


@dataclass(frozen=True, slots=True)
class WantedChunk:
    """A chunk that is to be embedded and stored. `generation` is its node's."""

    id: str
    json_pointer: str
    content_hash: str
    chunk_index: int
    chunk_text: str
    generation: int


@dataclass(frozen=True, slots=True)
class StoredChunkRef:
    """A chunk that the store has acknowledged, with how its words are read (katakana) and written."""

    id: str
    namespace: str
    doc_id: str
    readings: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class PublishedNode:
    """A node that answers with a version, while rows of older ones may still be in the store."""

    pointer_hash: str
    content_hash: str
    generation: int


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What storing chunks led to. `alive`: the Table is still there. `unwanted`: doc ids that came too late."""

    alive: bool
    unwanted: tuple[str, ...]
    flipped: tuple[PublishedNode, ...]


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """All of a Table's chunks in one look: the id by doc id of those `stored`, and doc ids of those `coming`.

    `planned`: the walk of the present `generation` is over.
    """

    generation: int
    planned: bool
    stored: Mapping[str, str]
    coming: Collection[str]


@dataclass(frozen=True, slots=True)
class OrphanedIndex:
    """The index of a Table for a fingerprint that is no longer kept."""

    project_id: str
    table_id: str
    fingerprint: str
    suffix: str
