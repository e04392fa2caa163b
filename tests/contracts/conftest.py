"""The adapters of the knowledge index over an empty database."""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
import pytest
from sakuin.knowledge.model import ChangeResult, KnowledgeChunk, PageChange, Source
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon
from sakuin.retrieval.index_version import PageIndexVersion
from supabase import Client

from tests.builders import text_of
from tests.doubles.embedder import CALIBRATION, FINGERPRINT, vector_of
from tests.emptied import emptied


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The four ports over one database."""

    index: KnowledgeIndex
    records: MaterialRecords
    search: KnowledgeSearch
    lexicon: Lexicon

    def embed(self, chunks: Sequence[KnowledgeChunk], fingerprint: PageIndexVersion = FINGERPRINT) -> None:
        """Keeps the vectors of these chunks."""
        self.index.record_index_version(fingerprint)
        vectors = {chunk.text_hash: vector_of(text_of(chunk.title, chunk.content)) for chunk in chunks}
        self.index.store_vectors(vectors, fingerprint)

    def apply(
        self,
        source: Source | None,
        chunks: Sequence[KnowledgeChunk],
        *,
        material: str = "m",
        expected: int | None = None,
        fingerprint: PageIndexVersion = FINGERPRINT,
    ) -> ChangeResult:
        """Applies chunks whose vectors are kept first, as IndexPage does."""
        self.embed(chunks, fingerprint)
        return self.index.apply(
            PageChange(material, source, chunks=chunks, fingerprint=fingerprint.id), expected_generation=expected
        )

    def contents(self, material: str = "m") -> dict[str, str]:
        """What is searchable of a material: anchor to content."""
        indexed = self.records.indexed_materials([material]).get(material)
        anchors = [chunk.anchor for chunk in indexed.chunks] if indexed else []
        return {anchor: self.search.chunk(f"{material}#{anchor}").content for anchor in anchors}

    def generations(self, material: str = "m") -> dict[str, int]:
        """The generation of each searchable chunk of a material."""
        anchors = self.contents(material)
        return {anchor: self.search.chunk(f"{material}#{anchor}").generation for anchor in anchors}


@pytest.fixture
def knowledge(service: Client, sql: psycopg.Connection) -> Knowledge:
    """The ports over an empty database."""
    emptied(sql)
    return Knowledge(
        KnowledgeIndex(service), MaterialRecords(service), KnowledgeSearch(service, CALIBRATION), Lexicon(service)
    )
