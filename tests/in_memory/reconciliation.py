"""What is known of keys and pages, and how far walks came, in dictionaries."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sakuin.domain.reconciliation import RecordedObject
from sakuin.ports.reconciliation import ClaimedTable, Turn

from tests.in_memory.index import MemoryIndex


@dataclass
class MemoryWalks:
    """`Walks`. `clock` gives seconds."""

    clock: Callable[[], float] = lambda: 0.0
    _places: dict[str, str | None] = field(default_factory=dict)
    _busy: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, *, seconds: int, begin: bool = False) -> Turn | None:
        if self._busy.get(name, -1.0) > self.clock() or not (begin or name in self._places):
            return None
        self._busy[name] = self.clock() + seconds
        return Turn(self._places.setdefault(name, None))

    def keep(self, name: str, after: str | None) -> None:
        self._places[name] = after

    def leave(self, name: str, after: str | None) -> None:
        self._busy.pop(name, None)
        if after is None:
            self._places.pop(name, None)
        else:
            self._places[name] = after


@dataclass
class MemoryLibraryRecords:
    """`LibraryRecords`. A transaction of `MemoryIndex` has no halves: broken is what a test put into `damaged`.

    `readings` are those that were ever brought: they go when nothing has them. `unfinished` are the materials that have
    unfinished work.
    """

    index: MemoryIndex
    unfinished: set[str] = field(default_factory=set)
    damaged: dict[str, str] = field(default_factory=dict)
    readings: set[str] = field(default_factory=set)
    outdated: set[str] = field(default_factory=set)

    def objects(self, after: str, *, limit: int, settling: float = 0) -> Sequence[RecordedObject]:
        owners = [
            RecordedObject(row.source.key, "owner", row.source.version_id, row.status == "deleted")
            for row in self.index.rows.values()
        ]
        waiting = [
            RecordedObject(
                key, "waiting", one.source.version_id, one.deleted, self.index.rows[one.material].status == "deleted"
            )
            for key, one in self.index.waiting.items()
        ]
        files = [
            RecordedObject(key, "file", version, version is None, key in self.outdated)
            for key, version in self.index.files.items()
        ]
        known = sorted((one for one in [*owners, *waiting, *files] if one.key > after), key=lambda one: one.key)
        return known[:limit]

    def pages(self) -> int:
        owned = sum(row.status != "deleted" for row in self.index.rows.values())
        return owned + sum(not one.deleted for one in self.index.waiting.values())

    def broken(self, after: str, *, limit: int) -> tuple[Sequence[tuple[str, str]], str | None]:
        page = sorted(material for material in self.index.rows if material > after)[:limit]
        found = [(material, self.damaged[material]) for material in page if material in self.damaged]
        return found, page[-1] if len(page) == limit else None

    def provisional(self, after: str, *, limit: int) -> tuple[Sequence[str], str | None]:
        page = sorted(material for material in self.index.rows if material > after)[:limit]
        late = {
            stored.chunk.material
            for stored in self.index.chunks.values()
            if stored.chunk.learns.source == "provisional"
        }
        late -= self.unfinished
        return [material for material in page if material in late], page[-1] if len(page) == limit else None

    def mend(self, material: str) -> None:
        self.damaged.pop(material, None)

    def sweep_words(self, after: str, *, limit: int, dry_run: bool) -> tuple[int, str | None]:
        pairs = {pair for stored in self.index.chunks.values() for pair in stored.chunk.words.readings}
        used = {"\t".join(pair) for pair in pairs}
        page = sorted(reading for reading in self.readings | used if reading > after)[:limit]
        unused = [reading for reading in page if reading not in used]
        if not dry_run:
            self.readings -= set(unused)
        return len(unused), page[-1] if len(page) == limit else None


@dataclass(frozen=True, slots=True)
class NoTables:
    """`TableClaims` of a deployment without Tables."""

    def after(self, table_id: str | None, *, limit: int) -> Sequence[str]:
        return ()

    def claimed(self, table_ids: Collection[str]) -> Sequence[ClaimedTable]:
        return ()

    def catch_up(self, table_id: str, generation: int) -> None:
        raise NotImplementedError
