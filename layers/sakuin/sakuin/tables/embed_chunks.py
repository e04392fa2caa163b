"""Embeds and stores the chunks of a Table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sakuin.language.indexing import index_words
from sakuin.language.model import IndexedWords
from sakuin.platform.embedding import Embedder, Vector
from sakuin.retrieval.vectors import embed_texts, text_hash
from sakuin.tables.chunk_store import ChunkStore, StoredChunkRow
from sakuin.tables.index_names import doc_id, namespace
from sakuin.tables.index_table import sweep_nodes
from sakuin.tables.json_pointer import ancestors, pointer_hash
from sakuin.tables.nodes import StoredChunkRef, WantedChunk
from sakuin.tables.postgres import TableIndex
from sakuin.tables.words import repeated_terms


@dataclass(frozen=True, slots=True)
class ChunksEmbedded:
    """What became of a batch: how many were stored, and how many texts had to be embedded for it.

    `refused` are the texts that cannot be embedded.
    """

    stored: int
    embedded: int
    ready: bool
    refused: int = 0


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
        wanted = self.index.chunks_to_store(table_id, ids, namespace=name)
        if len(wanted) < len(ids):
            # Another had this message before: he may have died between the flip and the sweep.
            sweep_nodes(self.store, self.index, name, table_id, self.index.nodes_to_sweep(table_id))
        vectors, refused, embedded = self._vectors(project_id, wanted)
        if refused:
            wanted = self._without_refused(table_id, name, wanted, refused)
        if wanted:
            self._store(table_id, name, wanted, vectors)
        ready = self.index.mark_ready_if_complete(table_id)
        return ChunksEmbedded(len(wanted), embedded, ready, len(refused))

    def _without_refused(
        self, table_id: str, name: str, wanted: Sequence[WantedChunk], refused: Mapping[str, str]
    ) -> Sequence[WantedChunk]:
        """The chunks of the nodes that can be indexed. The others leave the store, and say why on the tools."""
        why = {chunk.id: reason for chunk in wanted if (reason := refused.get(text_hash(chunk.chunk_text)))}
        gone = {chunk.json_pointer: chunk.generation for chunk in wanted if chunk.id in why}

        def sweep() -> None:
            for pointer, generation in gone.items():
                hashed = pointer_hash(pointer)
                self.store.sweep_node(name, json_pointer_hash=hashed, keep_content_hash=None, generation=generation)

        # Before, so that who dies in between begins again; after, for what another worker stored meanwhile.
        sweep()
        self.index.record_refused(table_id, why)
        sweep()
        return [chunk for chunk in wanted if chunk.json_pointer not in gone]

    def _store(self, table_id: str, name: str, wanted: Sequence[WantedChunk], vectors: Mapping[str, Vector]) -> None:
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
        result = self.index.record_stored(table_id, done)
        if not result.alive:
            # A late write must not revive the namespace of a Table that is gone.
            self.store.delete_namespace(name)
        elif result.unwanted:
            newest = max(chunk.generation for chunk in wanted)
            self.store.delete(name, result.unwanted, generation=newest)
        sweep_nodes(self.store, self.index, name, table_id, result.flipped)

    def _vectors(
        self, project_id: str, wanted: Sequence[WantedChunk]
    ) -> tuple[Mapping[str, Vector], Mapping[str, str], int]:
        """By the hashes of the texts their vectors, why some have none, and how many had to be embedded."""
        if not wanted:
            return {}, {}, 0
        texts = {text_hash(chunk.chunk_text): chunk.chunk_text for chunk in wanted}
        known = dict(self.index.known_vectors(project_id, texts.keys()))
        missing = sorted(texts.keys() - known.keys())
        new = embed_texts(
            self.embedder,
            {name: texts[name] for name in missing},
            lambda vectors: self.index.store_vectors(project_id, vectors),
        )
        return known | dict(new.vectors), new.refused, len(missing)


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
