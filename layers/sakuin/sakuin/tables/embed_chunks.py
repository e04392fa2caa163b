"""Embedding of the chunks of Tables: one batch, and the work of the embed queue."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from sakuin.errors import SakuinError
from sakuin.language.indexing import index_words
from sakuin.language.model import IndexedWords
from sakuin.platform.embedding import Embedder, RequestSize, Vector, embed_texts
from sakuin.platform.waiting import Record, WorkRow
from sakuin.retrieval.index_version import StoredIndexVersion, recorded_versions, version_of_tables
from sakuin.retrieval.passages import embedded_passages
from sakuin.tables.index_table import sweep_nodes
from sakuin.tables.json_pointer import ancestors, pointer_hash
from sakuin.tables.messages import EmbedRequest, embed_message
from sakuin.tables.nodes import PublishedNode, StoredChunkRef, StoredChunkRow, WantedChunk, doc_id, namespace
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import complete_indexed
from sakuin.tables.turbopuffer import ChunkStore

# Of a project's quota; what a vendor counts is known only afterwards, and not by project.
_BYTES_PER_TOKEN = 3
# A batch that takes longer stores what is embedded, so that the status counts it.
_SECONDS_PER_PORTION = 5.0


@dataclass(frozen=True, slots=True)
class ChunksEmbedded:
    """The result of a batch. `embedded` counts the texts without a known vector, `refused` those that have none."""

    stored: int
    embedded: int
    ready: bool
    refused: int = 0


@dataclass(frozen=True, slots=True)
class EmbedChunks:
    """Stores the chunks of a batch that are wanted and not stored yet, in portions if embedding is slow."""

    index: TableIndex
    store: ChunkStore
    embedder: Embedder
    suffix: str = ""
    clock: Callable[[], float] = time.monotonic

    def __call__(self, project_id: str, table_id: str, ids: Collection[str]) -> ChunksEmbedded:
        """Processes one batch. Idempotent, also with several workers.

        If the embedder fails, what it embedded before is stored.
        """
        name = namespace(project_id, table_id, self.suffix)
        chunks = self.index.chunks_to_store(table_id, ids, namespace=name)
        if len(chunks) < len(ids):
            # The message was delivered before. That worker may have ended between publishing and sweeping.
            sweep_nodes(self.store, self.index, name, table_id, self.index.nodes_to_sweep(table_id))
        stored, embedded, refused = self._embed(project_id, table_id, name, chunks) if chunks else (0, 0, 0)
        state = self.index.mark_ready_if_complete(table_id)
        ready = state.ready or complete_indexed(self.store, self.index, state.unindexed)
        return ChunksEmbedded(stored, embedded, ready, refused)

    def _embed(self, project_id: str, table_id: str, name: str, wanted: Sequence[WantedChunk]) -> tuple[int, int, int]:
        """Embeds and stores chunks; returns how many are stored, and how many texts were embedded and refused."""
        passages = {chunk.id: embedded_passages(chunk.chunk_text, title=chunk.title) for chunk in wanted}
        texts = {name: text for of_chunk in passages.values() for name, text in of_chunk.items()}
        stored_vectors = dict(self.index.known_vectors(project_id, texts.keys()))
        portion = _Portion(list(wanted), passages, stored_vectors, self.clock())
        missing = {name: texts[name] for name in sorted(texts.keys() - stored_vectors.keys())}

        def store() -> None:
            if chunks := portion.take(self.clock()):
                self._store(table_id, name, chunks, portion)

        def keep(vectors: Mapping[str, Vector]) -> None:
            self.index.store_vectors(project_id, vectors)
            portion.vectors |= vectors
            if self.clock() - portion.began >= _SECONDS_PER_PORTION:
                store()
                self.index.mark_ready_if_complete(table_id)

        self.index.take_tokens(project_id, _tokens(missing.values()))
        try:
            result = embed_texts(self.embedder, missing, keep, RequestSize(clock=self.clock))
        except SakuinError:
            unused = [text for passage, text in missing.items() if passage not in portion.vectors]
            self.index.take_tokens(project_id, -_tokens(unused))
            store()
            raise
        if result.refused:
            reasons = {chunk: reason for chunk, names in passages.items() if (reason := result.reason_for(names))}
            portion.chunks = self._without_refused(table_id, name, portion.chunks, reasons)
        store()
        return portion.stored, len(missing), len(result.refused)

    def _without_refused(
        self, table_id: str, name: str, wanted: Sequence[WantedChunk], reasons: Mapping[str, str]
    ) -> Sequence[WantedChunk]:
        """Returns the chunks of nodes that can be embedded. Deletes the other nodes and records why on their Tools.

        `reasons` are by the ids of the chunks that cannot.
        """
        nodes = {chunk.json_pointer: chunk.generation for chunk in wanted if chunk.id in reasons}
        unwanted = [PublishedNode(pointer_hash(pointer), None, generation) for pointer, generation in nodes.items()]
        # Sweeps before, so that a worker that ends in between starts again, and after, because another worker may
        # have stored rows meanwhile.
        self.store.sweep(name, unwanted)
        self.index.record_refused(table_id, reasons)
        self.store.sweep(name, unwanted)
        return [chunk for chunk in wanted if chunk.json_pointer not in nodes]

    def _store(self, table_id: str, name: str, wanted: Sequence[WantedChunk], portion: "_Portion") -> None:
        words = [index_words(title=chunk.title, learns=(), body=chunk.chunk_text) for chunk in wanted]
        rows = [
            _row(table_id, chunk, its_words, portion.vectors_of(chunk))
            for chunk, its_words in zip(wanted, words, strict=True)
        ]
        self.store.upsert(name, rows)
        stored = [
            StoredChunkRef(chunk.id, name, row.doc_id, counted_words(its_words, with_terms=chunk.counts_terms))
            for chunk, row, its_words in zip(wanted, rows, words, strict=True)
        ]
        result = self.index.record_stored(table_id, stored)
        if not result.table_exists:
            # The upsert may have created the namespace of a deleted Table again.
            self.store.delete_namespace(name)
        elif result.unwanted:
            newest = max(chunk.generation for chunk in wanted)
            self.store.delete(name, result.unwanted, generation=newest)
        sweep_nodes(self.store, self.index, name, table_id, result.published)


@dataclass(slots=True)
class _Portion:
    """The chunks of a batch that are not stored, since `began`, with all vectors of its passages by their names.

    `passages` are the names by the ids of the chunks.
    """

    chunks: Sequence[WantedChunk]
    passages: Mapping[str, Collection[str]]
    vectors: dict[str, Vector]
    began: float
    stored: int = 0

    def take(self, now: float) -> Sequence[WantedChunk]:
        """Returns the chunks that have all their vectors, and begins the next portion with the others."""
        embedded = [chunk for chunk in self.chunks if self.vectors.keys() >= set(self.passages[chunk.id])]
        self.chunks = [chunk for chunk in self.chunks if chunk not in embedded]
        self.began = now
        self.stored += len(embedded)
        return embedded

    def vectors_of(self, chunk: WantedChunk) -> Sequence[Vector]:
        """Returns the vectors of the passages of an embedded chunk."""
        return [self.vectors[name] for name in self.passages[chunk.id]]


def _tokens(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN


def repeated_terms(impacts: Mapping[str, float]) -> tuple[str, ...]:
    """Returns each term as often as in the text, for an engine that counts terms itself.

    An impact is count / (count + c), so that impact / (1 - impact) is count / c, with the same c for the whole text.
    The rarest term of a chunk is taken as one occurrence.
    """
    counts = {term: impact / (1 - impact) for term, impact in impacts.items() if 0 < impact < 1}
    once = min(counts.values(), default=1.0)
    return tuple(term for term, count in counts.items() for _ in range(round(count / once)))


def counted_words(words: IndexedWords, *, with_terms: bool) -> frozenset[tuple[str, str]]:
    """Returns the words of a chunk that its Table counts: readings with spellings, and `with_terms` its terms.

    A term has an empty reading. The empty term counts the chunks whose terms are counted.
    """
    return words.pairs | {("", term) for term in ("", *words.impacts) if with_terms}


def _row(table_id: str, chunk: WantedChunk, words: IndexedWords, vectors: Sequence[Vector]) -> StoredChunkRow:
    return StoredChunkRow(
        doc_id=doc_id(table_id, chunk.json_pointer, chunk.content_hash, chunk.chunk_index),
        json_pointer=chunk.json_pointer,
        ancestors=tuple(pointer_hash(pointer) for pointer in ancestors(chunk.json_pointer)),
        content_hash=chunk.content_hash,
        chunk_index=chunk.chunk_index,
        generation=chunk.generation,
        content=chunk.chunk_text,
        terms=repeated_terms(words.impacts),
        vectors=vectors,
        attributes=chunk.attributes,
    )


@dataclass(frozen=True, slots=True)
class EmbedWork:
    """A `QueueWork`: embeds and stores chunks of Tables.

    `versions` gives the index versions where the record of a message has none.
    """

    versions: Callable[[], Sequence[StoredIndexVersion]]
    embed_of: Callable[[StoredIndexVersion], EmbedChunks]
    logger: Logger
    metrics: Metrics

    def read(self, message: Mapping[str, Any]) -> EmbedRequest:
        return embed_message(message)

    def row_of(self, request: EmbedRequest) -> WorkRow:
        return request.row

    def give_up(self, request: EmbedRequest, reason: str) -> None:
        if version := version_of_tables(self.versions(), request.index_version):
            self.embed_of(version).index.give_up(request.table_id, reason)

    def process(self, request: EmbedRequest, record: Record | None) -> None:
        started = time.perf_counter()
        version = version_of_tables(recorded_versions(record) or self.versions(), request.index_version)
        if version is None:
            # The index version was deleted.
            return
        result = self.embed_of(version)(request.project_id, request.table_id, request.chunks)
        self.logger.info(
            "chunks embedded",
            table_id=request.table_id,
            stored=result.stored,
            embedded=result.embedded,
            ready=result.ready,
            milliseconds=round((time.perf_counter() - started) * 1000),
        )
        self.metrics.add_metric("ChunksStored", MetricUnit.Count, result.stored)
        self.metrics.add_metric("ChunkTextsEmbedded", MetricUnit.Count, result.embedded)
