"""The adapters of the knowledge index over an empty database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import psycopg
import pytest
from sakuin.knowledge.model import ChangeResult, KnowledgeChunk, MaterialState, PageChange, Source, StoredChunk
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.platform.supabase.client import Client
from sakuin.retrieval.index_version import PageIndexVersion

from tests.builders import a_chunk, a_source, text_of
from tests.doubles.embedder import FINGERPRINT, WEIGHTS, vector_of
from tests.emptied import emptied


@dataclass(frozen=True, slots=True)
class Knowledge:
    index: KnowledgeIndex
    records: MaterialRecords
    search: KnowledgeSearch
    read: ReadKnowledge
    lexicon: Lexicon
    recorded: set[PageIndexVersion] = field(default_factory=set)

    def empty(self, sql: psycopg.Connection) -> None:
        emptied(sql)
        self.recorded.clear()

    def embed(self, chunks: Sequence[KnowledgeChunk], fingerprint: PageIndexVersion = FINGERPRINT) -> None:
        if fingerprint not in self.recorded:
            self.index.record_index_version(fingerprint)
            self.recorded.add(fingerprint)
        vectors = {
            name: vector_of(text_of(chunk.title, chunk.content)) for chunk in chunks for name in chunk.text_hashes
        }
        self.index.store_vectors(vectors, fingerprint)

    def apply(
        self,
        source: Source | None,
        chunks: Sequence[KnowledgeChunk],
        *,
        material: str = "m",
        fingerprint: PageIndexVersion = FINGERPRINT,
        learns_files: Mapping[str, str | None] = MappingProxyType({}),
        **seen: Any,
    ) -> ChangeResult:
        """Applies chunks after their vectors, as IndexPage does; `seen` goes to `KnowledgeIndex.apply`."""
        self.embed(chunks, fingerprint)
        change = PageChange(material, source, chunks, fingerprint.id, learns_files)
        return self.index.apply(change, **seen)

    def delete(self, source: Source, *, material: str = "m", **seen: Any) -> ChangeResult:
        return self.index.apply(PageChange(material, source, deleted=True), **seen)

    def fail(self, source: Source, error: str = "not HTML", *, material: str = "m", **seen: Any) -> ChangeResult:
        return self.index.apply(PageChange(material, source, error=error), **seen)

    def add(self, *materials: str) -> None:
        """Applies a page of one rule for each material; its key is the material's name."""
        for material in materials:
            self.apply(a_source(material, 1), [a_chunk(material, "rule-a", "一")], material=material)

    def state(self, material: str = "m") -> MaterialState:
        found = self.index.state(material)
        assert found is not None
        return found

    def chunk(self, id: str) -> StoredChunk:
        (found,) = self.read.chunks([id])
        assert found is not None
        return found

    def contents(self, material: str = "m") -> dict[str, str]:
        """The searchable content of a material by anchor."""
        indexed = self.records.indexed_materials([material]).get(material)
        anchors = [chunk.anchor for chunk in indexed.chunks] if indexed else []
        return {anchor: self.chunk(f"{material}#{anchor}").content for anchor in anchors}

    def generations(self, material: str = "m") -> dict[str, int]:
        """The generation of each searchable chunk of a material."""
        return {anchor: self.chunk(f"{material}#{anchor}").generation for anchor in self.contents(material)}


@pytest.fixture
def knowledge(service: Client, sql: psycopg.Connection) -> Knowledge:
    emptied(sql)
    search = KnowledgeSearch(PostgresChunks(service), WEIGHTS)
    return Knowledge(
        KnowledgeIndex(service), MaterialRecords(service), search, ReadKnowledge(service, ""), Lexicon(service)
    )
