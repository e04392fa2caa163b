"""Chunks are embedded, stored, and recorded once the store has acknowledged them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.domain.json_pointer import ancestors, pointer_hash
from sakuin.domain.language.indexed_words import IndexedWords
from sakuin.domain.language.indexing import index_words
from sakuin.domain.recipe import text_hash
from sakuin.domain.search_index_names import doc_id, namespace
from sakuin.domain.table_index import repeated_terms
from sakuin.ports.chunk_store import ChunkStore, StoredChunkRow
from sakuin.ports.embedding import Embedder, Vector
from sakuin.ports.tables import StoredChunkRef, TableIndex, WantedChunk
from sakuin.services.sweep_nodes import swept


@dataclass(frozen=True, slots=True)
class ChunksEmbedded:
    """What became of a batch: how many were stored, and how many texts had to be embedded for it."""

    stored: int
    embedded: int
    ready: bool


@dataclass(frozen=True, slots=True)
class EmbedChunks:
    """Stores what is wanted and not stored yet; the rest of the batch costs nothing."""

    index: TableIndex
    store: ChunkStore
    embedder: Embedder
    suffix: str = ""

    def __call__(self, project_id: str, table_id: str, ids: Collection[str]) -> ChunksEmbedded:
        """Works on one batch. Any number of times, by any number of workers."""
        name = namespace(project_id, table_id, self.suffix)
        wanted = self.index.to_store(table_id, ids, namespace=name)
        embedded = self._store(project_id, table_id, name, wanted) if wanted else 0
        return ChunksEmbedded(len(wanted), embedded, self.index.settle(table_id))

    def _store(self, project_id: str, table_id: str, name: str, wanted: Sequence[WantedChunk]) -> int:
        vectors, embedded = self._vectors(project_id, wanted)
        words = [index_words(title="", learns=(), body=chunk.chunk_text) for chunk in wanted]
        rows = [
            _row(table_id, chunk, said, vectors[text_hash(chunk.chunk_text)])
            for chunk, said in zip(wanted, words, strict=True)
        ]
        self.store.upsert(name, rows)
        done = [
            StoredChunkRef(chunk.id, name, row.doc_id, said.readings)
            for chunk, row, said in zip(wanted, rows, words, strict=True)
        ]
        result = self.index.stored(table_id, done)
        if not result.alive:
            # A late write must not revive the namespace of a Table that is gone.
            self.store.delete_namespace(name)
        elif result.unwanted:
            newest = max(chunk.generation for chunk in wanted)
            self.store.delete(name, result.unwanted, generation=newest)
        swept(self.store, self.index, name, table_id, result.flipped)
        return embedded

    def _vectors(self, project_id: str, wanted: Sequence[WantedChunk]) -> tuple[Mapping[str, Vector], int]:
        texts = {text_hash(chunk.chunk_text): chunk.chunk_text for chunk in wanted}
        known = dict(self.index.known_vectors(project_id, texts.keys()))
        missing = sorted(texts.keys() - known.keys())
        if missing:
            vectors = self.embedder.passages([texts[name] for name in missing])
            new = dict(zip(missing, vectors, strict=True))
            self.index.keep_vectors(project_id, new)
            known |= new
        return known, len(missing)


def _row(table_id: str, chunk: WantedChunk, words: IndexedWords, vector: Vector) -> StoredChunkRow:
    return StoredChunkRow(
        doc_id=doc_id(table_id, chunk.json_pointer, chunk.content_hash, chunk.chunk_index),
        json_pointer=chunk.json_pointer,
        ancestors=tuple(pointer_hash(pointer) for pointer in ancestors(chunk.json_pointer)),
        content_hash=chunk.content_hash,
        chunk_index=chunk.chunk_index,
        generation=chunk.generation,
        content=chunk.chunk_text,
        terms=repeated_terms(words.impacts),
        vector=vector,
    )
