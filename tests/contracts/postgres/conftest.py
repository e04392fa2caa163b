"""The adapters of the knowledge index over an empty database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sakuin.knowledge.model import ChangeResult, KnowledgeChunk, MaterialState, PageChange, Source, StoredChunk
from sakuin.knowledge.postgres import KnowledgeIndex, MaterialRecords
from sakuin.knowledge.postgres_search import ChunkSearch, Lexicon, PostgresChunks, ReadKnowledge
from sakuin.knowledge.turbopuffer import StoredPages, TurbopufferChunks, namespace
from sakuin.platform.supabase.client import Client, answer
from sakuin.platform.turbopuffer.client import TurbopufferRows, connected
from sakuin.retrieval.index_version import CHUNKER, IndexVersion, PageIndexVersion, TableCut
from sakuin.upkeep.index_versions import IndexVersions

from tests.builders import a_chunk, a_source, text_of
from tests.doubles.embedder import FINGERPRINT, WEIGHTS, vector_of
from tests.emptied import emptied


@dataclass(frozen=True, slots=True)
class Knowledge:
    index: KnowledgeIndex
    records: MaterialRecords
    search: ChunkSearch
    read: ReadKnowledge
    lexicon: Lexicon
    version: PageIndexVersion = FINGERPRINT
    recorded: set[PageIndexVersion] = field(default_factory=set)

    def empty(self, sql: psycopg.Connection) -> None:
        emptied(sql)
        self.recorded.clear()
        if isinstance(self.search.chunks, TurbopufferChunks):
            self.search.chunks.rows.delete_namespace(namespace(self.search.chunks.library, self.version.space))

    def record(self, version: PageIndexVersion) -> None:
        """Adds the first index version, and the part of others that applies to pages."""
        if version in self.recorded:
            return
        self.recorded.add(version)
        if not IndexVersions(self.index.client).all():
            self.activate(version)
        row = {"fingerprint": version.id, "space": version.space, "text_template": version.text_template}
        answer(self.index.client.table("page_index_version").upsert(row, ignore_duplicates=True))

    def activate(self, version: PageIndexVersion) -> None:
        """Adds an index version with this part for pages, and makes it the live one."""
        parts = (version.model, version.text_template, version.analyzer, TableCut(), CHUNKER)
        whole, indexes = IndexVersion(*parts, version.vocabulary, version.store), IndexVersions(self.index.client)
        indexes.add(whole)
        indexes.activate(whole.id, force=True)

    def embed(self, chunks: Sequence[KnowledgeChunk], fingerprint: PageIndexVersion | None = None) -> None:
        fingerprint = fingerprint or self.version
        self.record(fingerprint)
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
        fingerprint: PageIndexVersion | None = None,
        learns_files: Mapping[str, str | None] = MappingProxyType({}),
        **seen: Any,
    ) -> ChangeResult:
        """Applies chunks after their vectors, as IndexPage does; `seen` goes to `KnowledgeIndex.apply`."""
        fingerprint = fingerprint or self.version
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
        indexed = self.records.indexed_materials([material]).get(material, ())
        anchors = [chunk.anchor for chunk in indexed]
        return {anchor: self.chunk(f"{material}#{anchor}").content for anchor in anchors}

    def generations(self, material: str = "m") -> dict[str, int]:
        """The generation of each searchable chunk of a material."""
        return {anchor: self.chunk(f"{material}#{anchor}").generation for anchor in self.contents(material)}


@pytest.fixture(params=["postgres", "turbopuffer"])
def knowledge(request: pytest.FixtureRequest, service: Client, sql: psycopg.Connection) -> Knowledge:
    """The index, its explanations searched in each of the stores."""
    emptied(sql)
    index, chunks = KnowledgeIndex(service), PostgresChunks(service)
    records, read, lexicon = MaterialRecords(service), ReadKnowledge(service, ""), Lexicon(service)
    if request.param == "postgres":
        return Knowledge(index, records, ChunkSearch(chunks, WEIGHTS), read, lexicon)
    # Each test has its own namespace.
    rows, library = TurbopufferRows(connected(request.getfixturevalue("stand_in"), "any")), uuid4().hex
    index = replace(index, stored_pages=lambda: StoredPages(service, rows, library))
    search = ChunkSearch(TurbopufferChunks(chunks, rows, library), WEIGHTS)
    return Knowledge(index, records, search, read, lexicon, replace(FINGERPRINT, store="turbopuffer"))
