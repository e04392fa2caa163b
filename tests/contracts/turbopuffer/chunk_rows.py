"""Rows for the tests of a `ChunkStore`, and what they find."""

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sakuin.language.model import Slot
from sakuin.tables.nodes import Found, FoundChunk, PublishedNode, StoredChunkRow
from sakuin.tables.turbopuffer import ChunkStore

# The service may have namespaces of others.
PREFIX = f"contract-{uuid4().hex[:8]}_"
NAMESPACE = f"{PREFIX}project_6f1c1a2e-9b7a-4c55-8d1e-1a2b3c4d5e6f_table_0b7a4c55-8d1e-4c55"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def place(pointer: str) -> str:
    return digest(pointer)[:16]


def row(
    pointer: str = "/articles/0/content",
    content: str = "二次方程式の解の公式",
    *,
    index: int = 0,
    generation: int = 1,
    terms: tuple[str, ...] = ("二次方程式", "公式"),
    vector: tuple[float, ...] = (1.0, 0.0, 0.0),
    further: tuple[tuple[float, ...], ...] = (),
) -> StoredChunkRow:
    parts = pointer.split("/")
    ancestors = tuple(place("/".join(parts[:end])) for end in range(1, len(parts) + 1))
    return StoredChunkRow(
        doc_id=f"0b7a4c55_{place(pointer)}_{digest(content)[:16]}_{index}",
        json_pointer=pointer,
        ancestors=ancestors,
        content_hash=digest(content),
        chunk_index=index,
        generation=generation,
        content=content,
        terms=terms,
        vectors=(vector, *further),
    )


def node_of(kept: StoredChunkRow) -> PublishedNode:
    return PublishedNode(place(kept.json_pointer), kept.content_hash, kept.generation)


def words(*terms: str | Slot) -> tuple[Slot, ...]:
    return tuple(Slot("word", (term,)) if isinstance(term, str) else term for term in terms)


def found(store: ChunkStore, **asked: Any) -> Found:
    return store.search(
        NAMESPACE, **{"vector": None, "slots": (), "text": "", "scope": place(""), "depth": 50, **asked}
    )


def in_order(chunks: Sequence[FoundChunk], leg: str) -> list[str]:
    ranks = {getattr(each, leg): each.doc_id for each in chunks if getattr(each, leg) is not None}
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    return [ranks[rank] for rank in sorted(ranks)]


def nearest(store: ChunkStore, scope: str = "", *, depth: int = 50) -> list[str]:
    chunks = found(store, vector=(1.0, 0.0, 0.0), scope=place(scope), depth=depth).chunks
    return in_order(chunks, "nearest_rank")


def matching(store: ChunkStore, *terms: str | Slot, scope: str = "", text: str = "", depth: int = 50) -> list[str]:
    chunks = found(store, slots=words(*terms), text=text, scope=place(scope), depth=depth).chunks
    return in_order(chunks, "matching_rank")
