"""The chunks of Tables in the search engine: the names of namespaces and documents, rows, and what a search finds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sakuin.errors import Invalid
from sakuin.platform.embedding import Vector
from sakuin.tables.json_pointer import pointer_hash

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
