"""The interface of the search engine of Tables, and the names of its namespaces and documents."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.errors import Invalid
from sakuin.language.model import Slot
from sakuin.platform.embedding import Vector
from sakuin.tables.json_pointer import pointer_hash
from sakuin.tables.nodes import PublishedNode

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


class ChunkStore(Protocol):
    """The chunks of Tables, in namespaces of a search engine.

    It has no transactions. Rows have a generation, and no write replaces a row of a greater generation.
    """

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        """Stores rows by id, except where a row of a greater generation exists. Idempotent; no rows is not an error.

        The rows are durable on return. Each request is atomic, but many rows take several requests. Ids over 64 bytes,
        vectors of other dimensions than the stored ones, and text that is not Unicode raise `Invalid`.
        """

    def search(
        self,
        namespace: str,
        *,
        vector: Vector | None,
        slots: Sequence[Slot],
        text: str,
        scope: str,
        depth: int,
        sample: Sequence[str] = (),
    ) -> Found:
        """Returns the `depth` nearest and the `depth` matching rows below `scope` (a pointer hash), the nearest first.

        The rank of a matching row is by the sum over `slots` of the best term of each slot: weight times BM25. Without
        slots it is by the BM25 of the engine's own words in `text`. A text that is too long is cut. Without `vector`
        there are no nearest rows and no cosines. `sample` are doc ids, in any scope; unknown ones are left out. A
        namespace that does not exist has no rows.
        """

    def sweep(self, namespace: str, nodes: Collection[PublishedNode]) -> int:
        """Deletes the rows of nodes up to their generations, except those of their contents. Returns the number."""

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        """Deletes rows by id, with `generation` only those up to it. An unknown id is not an error."""

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace with its rows. An unknown namespace is not an error."""

    def is_indexed(self, namespace: str) -> bool:
        """Returns whether `search` and `ids` see all rows that were stored before; true without such a namespace.

        After large writes they may lack the newest rows for up to an hour.
        """

    def ids(self, namespace: str) -> Mapping[str, int]:
        """Returns the generation of every row by id, without those that are not visible yet: see `is_indexed`."""

    def namespaces(self, prefix: str) -> Sequence[str]:
        """Returns all namespaces whose names begin with `prefix`, in order."""
