"""The search engine of Tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sakuin.language.model import Slot
from sakuin.platform.embedding import Vector


@dataclass(frozen=True, slots=True)
class StoredChunkRow:
    """One document in the search engine.

    `ancestors` are 16-hex-digit hashes of pointers, from the root to the node: the last is the node's own.
    """

    doc_id: str
    json_pointer: str
    ancestors: tuple[str, ...]
    content_hash: str
    chunk_index: int
    generation: int
    content: str
    terms: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A document that a search found. `score`: its cosine with the question, or what the words' leg gave it."""

    doc_id: str
    json_pointer: str
    content_hash: str
    chunk_index: int
    score: float


class ChunkStore(Protocol):
    """The chunks of Tables in namespaces of a search engine.

    It has no transactions: rows carry the generation they were written for, and an older writer never undoes a newer.
    """

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        """Stores rows by id; one that is stored with a greater generation is left as it is. Twice is once.

        Durable on return, and each request atomic; many rows are several requests. Ids over 64 bytes, vectors of
        other dimensions than those stored, and text that is no Unicode are `Invalid`. No row is not an error.
        """

    def search(
        self, namespace: str, *, vector: Vector | None, slots: Sequence[Slot], text: str, scope: str, depth: int
    ) -> tuple[Sequence[FoundChunk], Sequence[FoundChunk]]:
        """The nearest and the matching rows below `scope` (a pointer's 16-digit hash), best first, `depth` of each.

        Matching is the sum over `slots` of the best of each slot's terms: weight times BM25. Where there are no
        slots it is BM25 over the engine's own words of `text`. What is too long to ask for is cut. Without a vector
        nothing is nearest. A namespace that is not there holds nothing.
        """

    def sweep_node(
        self, namespace: str, *, json_pointer_hash: str, keep_content_hash: str | None, generation: int
    ) -> int:
        """Deletes the rows of one node whose content is not the kept one, up to `generation`; says how many."""

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        """Deletes rows by id, with `generation` only those up to it. What is not there is not an error."""

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace with its rows; one that is not there is not an error."""

    def count(self, namespace: str) -> int:
        """How many rows there are, in one cheap question; none in a namespace that is not there."""

    def ids(self, namespace: str) -> Mapping[str, int]:
        """The id and generation of every row, however many."""

    def namespaces(self, prefix: str) -> Sequence[str]:
        """The namespaces whose names begin with `prefix`, in order, however many."""
