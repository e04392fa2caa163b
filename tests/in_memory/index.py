"""The knowledge index as a plain oracle of the SQL: what `apply_material` and its neighbours promise, in Python."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sakuin.domain.knowledge import KnowledgeChunk
from sakuin.domain.material_version import Applied, MaterialState, Outcome, Receipt, Source, Status
from sakuin.domain.recipe import Fingerprint
from sakuin.errors import Invalid
from sakuin.ports.embedding import Vector
from sakuin.ports.materials import PageChange

NOW = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `material`. Two fences: `source.sequencer` for what is known, `indexed_sequencer` for what is found."""

    source: Source
    status: Status = "deleted"
    error: str | None = None
    generation: int = 0
    indexed_sequencer: str = ""
    indexed_version_id: str | None = None
    fingerprint: str | None = None
    indexed_at: str | None = None
    unordered: bool = False


@dataclass(frozen=True, slots=True)
class Synonyms:
    """A row of `site_synonyms`."""

    source: Source
    groups: Sequence[Sequence[str]] = ()
    generation: int = 0
    unordered: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of `knowledge_chunks`. `vectors` has, by space, the hash of the text that was embedded, and its vector."""

    chunk: KnowledgeChunk
    fingerprint: str
    generation: int
    vectors: Mapping[str, tuple[str, Vector]]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A key whose material another key owns; `deleted` keeps only its fence."""

    material: str
    source: Source
    deleted: bool
    since: int


@dataclass
class MemoryIndex:
    """A `KnowledgeIndex`; `MemoryRecords` and `MemorySearch` read it."""

    rows: dict[str, Row] = field(default_factory=dict)
    chunks: dict[str, Stored] = field(default_factory=dict)
    waiting: dict[str, Waiting] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    learns: dict[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    fingerprints: dict[str, Fingerprint] = field(default_factory=dict)
    # The fingerprints of the indexes that are kept, and the one of them that answers.
    kept: list[Fingerprint] = field(default_factory=list)
    live: Fingerprint | None = None
    synonyms: dict[str, Synonyms] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    ticks: int = 0

    def remember(self, fingerprint: Fingerprint) -> None:
        self.fingerprints[fingerprint.id] = fingerprint

    def state(self, material: str) -> MaterialState | None:
        row = self.rows.get(material)
        if row is None:
            return None
        return MaterialState(
            material=material,
            source=row.source,
            status=row.status,
            error=row.error,
            generation=row.generation,
            indexed_version_id=row.indexed_version_id,
            fingerprint=row.fingerprint,
            chunks_count=len(self.chunks_of(material)),
            indexed_at=row.indexed_at,
        )

    def chunks_of(self, material: str) -> list[Stored]:
        """The searchable chunks of a material in page order."""
        found = [stored for stored in self.chunks.values() if stored.chunk.material == material]
        return sorted(found, key=lambda stored: stored.chunk.position)

    def missing_vectors(self, text_hashes: Collection[str], fingerprint: Fingerprint) -> set[str]:
        return {each for each in text_hashes if (fingerprint.space, each) not in self.vectors}

    def keep_vectors(self, vectors: Mapping[str, Vector], fingerprint: Fingerprint) -> None:
        if vectors and fingerprint.space not in {each.space for each in self.fingerprints.values()}:
            raise Invalid("The database refused the data: remember the fingerprint first")
        for text_hash, vector in vectors.items():
            self.vectors.setdefault((fingerprint.space, text_hash), vector)

    def apply(self, change: PageChange, *, expected_generation: int | None, current: bool = False) -> Applied:
        material, source = change.material, change.source
        if source is None:
            return self._apply_again(material, change.chunks or (), str(change.fingerprint), expected_generation)
        what: dict[str, Any] = {}
        if change.error is not None:
            what = {"error": change.error}
        elif not change.deleted:
            what = {"chunks": change.chunks, "fingerprint": change.fingerprint}
        if current:
            return self._held(material, source, expected_generation, **what)
        row = self.rows.get(material)
        same = row is not None and (row.source.key, row.source.sequencer) == (source.key, source.sequencer)
        if (
            row is not None
            and same
            and not row.unordered
            and row.generation != expected_generation
            and what.get("chunks")
        ):
            return Applied("conflict", row.generation)
        return self._newer(material, source, **what)

    def leave_receipt(self, source: Source, outcome: Outcome, reason: str | None = None) -> None:
        if source.version_id is not None:
            self.receipts[source.key, source.version_id] = Receipt(source.key, source.version_id, outcome, reason)

    def keep_synonyms(
        self,
        source: Source,
        groups: Sequence[Sequence[str]],
        *,
        expected_generation: int | None = None,
        current: bool = False,
    ) -> Outcome:
        known = self.synonyms.get(source.key) or Synonyms(replace(source, sequencer=""))
        if current and known.generation != (expected_generation or 0):
            return "conflict"
        if not current and (known.unordered or known.source.sequencer > source.sequencer):
            return "superseded"
        fenced = replace(source, sequencer=source.sequencer or known.source.sequencer)
        self.synonyms[source.key] = Synonyms(fenced, groups, known.generation + 1, known.unordered or current)
        return "applied"

    def synonyms_generation(self, key: str) -> int | None:
        known = self.synonyms.get(key)
        return known.generation if known else None

    def followed(self, key: str, version_id: str | None) -> None:
        self.files[key] = version_id

    def cached_learns(self, cache_key: str) -> Mapping[str, tuple[str, ...]] | None:
        return self.learns.get(cache_key)

    def keep_learns(self, cache_key: str, learns: Mapping[str, tuple[str, ...]]) -> None:
        self.learns.setdefault(cache_key, learns)

    def materials_spoken_of(self, folder: str, names: Collection[str]) -> Sequence[str]:
        return [
            material
            for material, row in self.rows.items()
            if material.startswith(folder)
            and row.indexed_version_id is not None
            and (
                material in names
                or material.rpartition("/")[2] in names
                or any(stored.chunk.learns.source == "author" for stored in self.chunks_of(material))
            )
        ]

    def materials_built_otherwise(self, fingerprint: str) -> Sequence[str]:
        known = [each.id for each in self.kept]
        # What later settings wrote has all that these would write, but for vectors.
        written = known[known.index(fingerprint) :] if fingerprint in known else [fingerprint]
        space = self.fingerprints[fingerprint].space if fingerprint in known else None
        return sorted(
            material
            for material, row in self.rows.items()
            if row.indexed_version_id is not None
            and (
                row.fingerprint not in written
                or (space is not None and any(space not in one.vectors for one in self.chunks_of(material)))
            )
        )

    def _apply_again(
        self, material: str, chunks: Sequence[KnowledgeChunk], fingerprint: str, expected_generation: int | None
    ) -> Applied:
        row = self.rows.get(material)
        if row is None or row.generation != expected_generation or row.status == "deleted":
            return Applied("conflict", row.generation if row else 0)
        self._replace(material, chunks, fingerprint, row.generation + 1)
        row = replace(row, generation=row.generation + 1, fingerprint=fingerprint, indexed_at=NOW)
        self.rows[material] = row
        return Applied("applied", row.generation)

    def _held(self, material: str, source: Source, expected_generation: int | None, **what: Any) -> Applied:
        """With the fences down, what the bucket holds now is the newest."""
        before = self.rows.get(material) or Row(replace(source, sequencer="", version_id=None))
        if before.generation != (expected_generation or 0):
            return Applied("conflict", before.generation)
        waits = self.waiting.get(source.key)
        if before.source.key == source.key:
            fence = before.source.sequencer
            down = replace(before.source, bucket=source.bucket, sequencer="")
            self.rows[material] = replace(before, source=down, indexed_sequencer="", unordered=False)
        else:
            fence = waits.source.sequencer if waits else ""
            self.rows[material] = replace(before, unordered=False)
            if waits:
                self.waiting[source.key] = replace(waits, source=replace(waits.source, sequencer=""))
        done = self._newer(material, replace(source, sequencer=source.sequencer or fence or "0"), **what)
        row = self.rows[material]
        self.rows[material] = replace(
            row,
            unordered=before.unordered or row.source.key == source.key,
            generation=max(row.generation, before.generation + 1),
        )
        return replace(done, generation=self.rows[material].generation)

    def _newer(
        self,
        material: str,
        source: Source,
        *,
        chunks: Sequence[KnowledgeChunk] | None = None,
        error: str | None = None,
        fingerprint: str | None = None,
    ) -> Applied:
        """A version with a sequencer: `chunks`, or an `error`, or a deletion."""
        row = self.rows.get(material) or Row(replace(source, sequencer="", version_id=None))
        if row.source.key != source.key:
            outcome = self._outside(material, row, source, deleted=chunks is None and error is None)
            if outcome is not None:
                return Applied(outcome, row.generation)
            row = Row(
                replace(source, sequencer="", version_id=None), generation=row.generation, unordered=row.unordered
            )
            self.rows[material] = row
        behind = source.sequencer < row.source.sequencer and (error or source.sequencer <= row.indexed_sequencer)
        if row.unordered or behind:
            return Applied("superseded", row.generation, self._successor(material))
        if error is not None:
            self._write(material, replace(row, source=source, status="failed", error=error))
            self.leave_receipt(source, "failed", error)
            return Applied("failed", row.generation + 1)
        self._replace(material, chunks or (), fingerprint or "", row.generation + 1)
        if source.sequencer >= row.source.sequencer:
            row = replace(row, source=source, status="deleted" if chunks is None else "ready", error=None)
        row = replace(
            row,
            indexed_sequencer=source.sequencer,
            indexed_version_id=None if chunks is None else source.version_id,
            fingerprint=fingerprint,
            indexed_at=None if chunks is None else NOW,
        )
        self._write(material, row)
        self.leave_receipt(source, "applied")
        return Applied("applied", row.generation + 1, self._successor(material))

    def _write(self, material: str, row: Row) -> None:
        self.rows[material] = replace(row, generation=row.generation + 1)

    def _outside(self, material: str, row: Row, source: Source, *, deleted: bool) -> Outcome | None:
        """What becomes of a key that is not the owner; None when it takes over, and the owner's fence moves out."""
        self.ticks += 1
        known = self.waiting.get(source.key)
        if known is not None and known.source.sequencer > source.sequencer:
            return "superseded"
        if deleted or row.status != "deleted":
            since = known.since if known is not None and not known.deleted else self.ticks
            self.waiting[source.key] = Waiting(material, source, deleted, since)
            outcome: Outcome = "applied" if deleted else "waiting"
            self.leave_receipt(
                source, outcome, None if deleted else f"the material belongs to the key {row.source.key}"
            )
            return outcome
        self.waiting[row.source.key] = Waiting(material, row.source, True, self.ticks)
        self.waiting.pop(source.key, None)
        return None

    def _successor(self, material: str) -> Source | None:
        row = self.rows.get(material)
        if row is None or row.status != "deleted":
            return None
        heirs = [one for one in self.waiting.values() if one.material == material and not one.deleted]
        return min(heirs, key=lambda one: (one.since, one.source.key)).source if heirs else None

    def _replace(self, material: str, chunks: Sequence[KnowledgeChunk], fingerprint: str, generation: int) -> None:
        own = self.fingerprints.get(fingerprint)
        same = [each.space for each in self.kept if own is not None and each.recipe == own.recipe]
        spaces = set(same if self.kept else [own.space] if own else [])
        answers = self.live.space if self.live else own.space if own else ""
        old = {stored.chunk.id: stored for stored in self.chunks_of(material)}
        vectors = {chunk.id: self._vectors(chunk, old.get(chunk.id), fingerprint, spaces) for chunk in chunks}
        if answers in spaces and any(answers not in each for each in vectors.values()):
            raise Invalid("The database refused the data: a vector is missing")
        for id in old.keys() - vectors.keys():
            del self.chunks[id]
        for chunk in chunks:
            was = old.get(chunk.id)
            # Its words alone change no generation.
            unchanged = was and (replace(was.chunk, words=chunk.words), was.fingerprint) == (chunk, fingerprint)
            current = was.generation if was and unchanged else generation
            self.chunks[chunk.id] = Stored(chunk, fingerprint, current, vectors[chunk.id])

    def _vectors(
        self, chunk: KnowledgeChunk, was: Stored | None, fingerprint: str, spaces: set[str]
    ) -> dict[str, tuple[str, Vector]]:
        """The chunk's vectors: those that this writer makes, and those that stay because it says what it said."""
        kept = was.vectors if was else {}
        fresh = {
            space: (chunk.text_hash, self.vectors[space, chunk.text_hash])
            for space in spaces
            if (space, chunk.text_hash) in self.vectors
        }
        stays = was is not None and _said(was.chunk) == _said(chunk)
        if was is not None and was.fingerprint == fingerprint:
            stays = stays and was.chunk.text_hash == chunk.text_hash
        others = {name: one for name, one in kept.items() if stays and name not in spaces}
        own = {name: one for name, one in kept.items() if name in spaces and one[0] == chunk.text_hash}
        return others | own | fresh


def _said(chunk: KnowledgeChunk) -> tuple[str, str, tuple[str, ...]]:
    return chunk.title, chunk.content_hash, chunk.learns.items
