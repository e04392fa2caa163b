"""The indexes that a deployment keeps, over the in-memory index of pages; of Tables there are none."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sakuin.domain.index_settings import IndexSettings, KeptIndex
from sakuin.domain.index_state import BuiltPart, IndexState
from sakuin.domain.table_index import tables_of
from sakuin.errors import Conflict, NotFound

from tests.in_memory.index import NOW, MemoryIndex

_NAMED = 10


@dataclass
class MemoryIndexes:
    """`Indexes`. Time stands still: what was asked for is asked for again only after no seconds at all."""

    index: MemoryIndex
    rows: dict[str, IndexState] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def kept(self) -> Sequence[KeptIndex]:
        found = []
        for row in self.rows.values():
            tables = tables_of(row.settings).id
            suffix = "" if not found else tables
            found.append(KeptIndex(row.settings, row.live, row.live_since is not None, tables, suffix))
        return found

    def keep(self, settings: IndexSettings) -> None:
        if settings.id in self.rows:
            return
        first = not self.rows
        part = BuiltPart(0, 0, ())
        self.rows[settings.id] = IndexState(settings, first, NOW, NOW if first else None, None, part, part)
        self.index.remember(settings.knowledge)
        self.asked.clear()
        self._told()

    def states(self) -> Sequence[IndexState]:
        return [self._state(row) for row in self.rows.values()]

    def flip(self, fingerprint: str, *, force: bool = False) -> IndexState:
        state = self._state(self._row(fingerprint))
        if state.live:
            return state
        if not state.is_whole and not force:
            raise Conflict(f"The index {fingerprint} is not whole: {state.pages.missing} pages are missing")
        self.rows = {
            name: replace(row, live=name == fingerprint, retired_at=NOW if row.live else row.retired_at)
            for name, row in self.rows.items()
        }
        self.rows[fingerprint] = replace(self.rows[fingerprint], live_since=NOW, retired_at=None)
        self._told()
        return self._state(self.rows[fingerprint])

    def drop(self, fingerprint: str, *, seconds: int) -> None:
        row = self._row(fingerprint)
        if row.live:
            raise Conflict(f"The index {fingerprint} answers. Flip to another one first")
        if row.retired_at is not None and seconds:
            raise Conflict(f"The index {fingerprint} answered until just now. Try again in a minute")
        del self.rows[fingerprint]
        self._told()

    def pages_to_build(self, recipe: str, *, seconds: int, limit: int) -> Sequence[str]:
        wanted = {
            material
            for row in self.rows.values()
            if row.settings.recipe == recipe
            for material in self.index.materials_built_otherwise(row.settings.knowledge.id)
            if not (seconds and material in self.asked)
        }
        given = sorted(wanted)[:limit]
        self.asked |= set(given)
        return given

    def tables_to_build(self, tables: str, *, seconds: int, limit: int) -> Sequence[tuple[str, str]]:
        return []

    def refresh(self, *, seconds: int) -> int:
        return 0

    def sweep(self, *, limit: int) -> int:
        spaces = {each.space for each in self.index.kept}
        unkept = [name for name in self.index.vectors if name[0] not in spaces][:limit]
        for name in unkept:
            del self.index.vectors[name]
        swept = len(unkept)
        for id, stored in self.index.chunks.items():
            left = {space: one for space, one in stored.vectors.items() if space in spaces}
            swept += len(stored.vectors) - len(left)
            self.index.chunks[id] = replace(stored, vectors=left)
        return swept

    def _row(self, fingerprint: str) -> IndexState:
        if fingerprint not in self.rows:
            raise NotFound(f"There is no index {fingerprint}")
        return self.rows[fingerprint]

    def _state(self, row: IndexState) -> IndexState:
        missing = self.index.materials_built_otherwise(row.settings.knowledge.id)
        total = sum(each.indexed_version_id is not None for each in self.index.rows.values())
        named = tuple((name, "is not built yet") for name in missing[:_NAMED])
        return replace(row, pages=BuiltPart(total, len(missing), named))

    def _told(self) -> None:
        self.index.kept = [row.settings.knowledge for row in self.rows.values()]
        self.index.live = next((row.settings.knowledge for row in self.rows.values() if row.live), None)
