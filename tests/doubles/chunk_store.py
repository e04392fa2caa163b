"""A search engine of chunks in dictionaries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import sqrt

from sakuin.errors import Invalid
from sakuin.language.model import Slot
from sakuin.platform.embedding import Vector
from sakuin.tables.chunk_store import FoundChunk, StoredChunkRow

_MAX_ID_BYTES = 64


@dataclass
class MemoryChunkStore:
    """A `ChunkStore`. Rows match by which slots they fill, or by characters where no words are asked for."""

    _namespaces: dict[str, dict[str, StoredChunkRow]] = field(default_factory=dict)

    def upsert(self, namespace: str, rows: Sequence[StoredChunkRow]) -> None:
        for row in rows:
            _check(row, self._rows(namespace))
        for row in rows:
            stored = self._namespaces.setdefault(namespace, {})
            if row.doc_id not in stored or stored[row.doc_id].generation <= row.generation:
                stored[row.doc_id] = row

    def search(
        self, namespace: str, *, vector: Vector | None, slots: Sequence[Slot], text: str, scope: str, depth: int
    ) -> tuple[Sequence[FoundChunk], Sequence[FoundChunk]]:
        rows = [row for row in self._rows(namespace) if scope in row.ancestors]
        nearest = [] if vector is None else [_found(row, _cosine(row.vector, vector)) for row in rows]
        matching = [_found(row, score) for row in rows if (score := _hits(row, slots, text))]
        by_vector, by_words = (sorted(leg, key=lambda each: -each.score)[:depth] for leg in (nearest, matching))
        return tuple(by_vector), tuple(by_words)

    def sweep_node(
        self, namespace: str, *, json_pointer_hash: str, keep_content_hash: str | None, generation: int
    ) -> int:
        return self._remove(
            namespace,
            [
                row
                for row in self._rows(namespace)
                if row.ancestors[-1] == json_pointer_hash
                and row.content_hash != keep_content_hash
                and row.generation <= generation
            ],
        )

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        self._remove(
            namespace,
            [
                row
                for row in self._rows(namespace)
                if row.doc_id in doc_ids and (generation is None or row.generation <= generation)
            ],
        )

    def delete_namespace(self, namespace: str) -> None:
        self._namespaces.pop(namespace, None)

    def ids(self, namespace: str) -> dict[str, int]:
        return {row.doc_id: row.generation for row in self._rows(namespace)}

    def namespaces(self, prefix: str) -> list[str]:
        return sorted(name for name in self._namespaces if name.startswith(prefix))

    def _rows(self, namespace: str) -> list[StoredChunkRow]:
        return list(self._namespaces.get(namespace, {}).values())

    def _remove(self, namespace: str, rows: Sequence[StoredChunkRow]) -> int:
        for row in rows:
            del self._namespaces[namespace][row.doc_id]
        return len(rows)


def _check(row: StoredChunkRow, others: Sequence[StoredChunkRow]) -> None:
    if len(row.doc_id.encode()) > _MAX_ID_BYTES:
        raise Invalid(f"id {row.doc_id} has more than {_MAX_ID_BYTES} bytes")
    if others and len(others[0].vector) != len(row.vector):
        raise Invalid(f"the vector of {row.doc_id} has other dimensions than the namespace")
    try:
        "".join((row.content, row.json_pointer, *row.terms)).encode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{row.doc_id} is no Unicode text") from error


def _cosine(left: Vector, right: Vector) -> float:
    product = sum(a * b for a, b in zip(left, right, strict=True))
    return product / sqrt(sum(a * a for a in left) * sum(b * b for b in right))


def _hits(row: StoredChunkRow, slots: Sequence[Slot], text: str) -> float:
    if not slots:
        return sum(character in row.content for character in set(text))
    return sum(max((each.weight for each in slot.terms if each.term in row.terms), default=0.0) for slot in set(slots))


def _found(row: StoredChunkRow, score: float) -> FoundChunk:
    return FoundChunk(row.doc_id, row.json_pointer, row.content_hash, row.chunk_index, score)
