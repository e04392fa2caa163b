"""The records over the in-memory index."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.domain.material_version import Receipt
from sakuin.domain.validation import IndexedChunk, IndexedMaterial
from sakuin.ports.materials import MaterialPage

from tests.in_memory.index import MemoryIndex, Stored


@dataclass(frozen=True, slots=True)
class MemoryRecords:
    """A `MaterialRecords`."""

    index: MemoryIndex

    def materials(self, *, prefix: str = "", after: str | None = None, limit: int = 200) -> MaterialPage:
        states = [
            state
            for material in sorted(self.index.rows)
            if material.startswith(prefix) and (after is None or material > after)
            if (state := self.index.state(material)) is not None and state.status != "deleted"
        ]
        return MaterialPage(states[:limit], states[limit - 1].material if len(states) > limit else None)

    def counts(self) -> Mapping[str, int]:
        by_status = Counter(row.status for row in self.index.rows.values() if row.status != "deleted")
        return {**by_status, "chunks": len(self.index.chunks)}

    def receipts(self, versions: Collection[tuple[str, str]]) -> Sequence[Receipt]:
        return [self.index.receipts[version] for version in versions if version in self.index.receipts]

    def waiting(self) -> Sequence[tuple[str, str, str]]:
        return [
            (one.material, key, self.index.rows[one.material].source.key)
            for key, one in sorted(self.index.waiting.items())
            if not one.deleted
        ]

    def indexed(self, materials: Collection[str]) -> Mapping[str, IndexedMaterial]:
        return {
            material: IndexedMaterial(tuple(map(_indexed, self.index.chunks_of(material))))
            for material in materials
            if material in self.index.rows and self.index.rows[material].status != "deleted"
        }


def _indexed(stored: Stored) -> IndexedChunk:
    learns = stored.chunk.learns
    return IndexedChunk(stored.chunk.anchor, learns.items, learns.given)
