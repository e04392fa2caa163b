"""How long a Search Tool takes over so many chunks: the store's time, and all of ours around it.

The chunks are stored as the workers store them, without embedding: rows in Postgres, vectors out of a seed.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sakuin.language.indexing import index_words
from sakuin.language.model import IndexedWords
from sakuin.platform.embedding import Vector
from sakuin.tables.chunk_store import ChunkStore, Found, StoredChunkRow, doc_id, namespace
from sakuin.tables.chunking import chunks
from sakuin.tables.embed_chunks import counted_words, repeated_terms
from sakuin.tables.json_pointer import ancestors, pointer_hash
from sakuin.tables.nodes import NodeVersion, StoredChunkRef
from sakuin.tables.scan import content_hash
from sakuin.tables.search import SearchTable

from benchmarks.table_stack import CALIBRATION, CUT, MODEL, KnownQuestion, Stack, large_string, quantiles, running

CALLS = 200
QUESTIONS = (
    "二次方程式の解の公式",
    "直線の傾きは何を表すか",
    "直角三角形の斜辺の長さを求める",
    "確率を場合の数から求める方法",
    "方程式の両辺に同じ数を足す",
)


@dataclass
class TimedStore:
    """The searching side of a `ChunkStore`, with the milliseconds of each search. `chunks`: what the last one found."""

    store: ChunkStore
    times: list[float] = field(default_factory=list)
    chunks: int = 0

    def search(self, namespace: str, **asked: Any) -> Found:
        started = time.perf_counter()
        found = self.store.search(namespace, **asked)
        self.times.append((time.perf_counter() - started) * 1000)
        self.chunks = len(found.chunks)
        return found


def versions(first: int, last: int) -> Iterator[NodeVersion]:
    """Large strings by number, in chunks."""
    for number in range(first, last):
        text, pointer = large_string(number), f"/articles/{number}/content"
        pieces = tuple(chunks(text, size=CUT.chunk_size, overlap=CUT.overlap))
        yield NodeVersion(pointer_hash(pointer), pointer, content_hash(text), pieces)


def random_vector(seed: str, index: int) -> Vector:
    """A vector out of a seed of hex digits."""
    return np.random.default_rng(int(seed[:8], 16) + index).standard_normal(MODEL.dimensions).tolist()


def store(
    stack: Stack,
    project: str,
    table: str,
    nodes: Sequence[NodeVersion],
    vector_of: Callable[[NodeVersion, int], Vector] = lambda node, index: random_vector(node.content_hash, index),
) -> None:
    """Makes nodes searchable; `vector_of` is given a node and the index of its chunk."""
    generation = stack.index.begin_scan(table, None, skip=0, for_event=False).generation
    name = namespace(project, table)
    plan = stack.index.plan_nodes(table, generation, nodes)
    if plan is None:
        raise LookupError("The Table was changed by somebody else")
    places = [(node, index) for node in nodes for index in range(len(node.chunks))]
    words = [index_words(title="", learns=(), body=node.chunks[index].text) for node, index in places]
    rows = [_row(table, generation, *place, said, vector_of(*place)) for place, said in zip(places, words, strict=True)]
    stack.store.upsert(name, rows)
    wanted = {
        doc_id(table, each.json_pointer, each.content_hash, each.chunk_index): each
        for each in stack.index.chunks_to_store(table, plan.missing, namespace=name)
    }
    stack.index.record_stored(
        table,
        [
            StoredChunkRef(chunk.id, name, row.doc_id, counted_words(said, with_terms=chunk.counts_terms))
            for chunk, row, said in zip((wanted[row.doc_id] for row in rows), rows, words, strict=True)
        ],
    )


def _row(
    table: str, generation: int, node: NodeVersion, index: int, words: IndexedWords, vector: Vector
) -> StoredChunkRow:
    pointer, text = node.json_pointer, node.chunks[index].text
    return StoredChunkRow(
        doc_id=doc_id(table, pointer, node.content_hash, index),
        json_pointer=pointer,
        ancestors=tuple(pointer_hash(each) for each in ancestors(pointer)),
        content_hash=node.content_hash,
        chunk_index=index,
        generation=generation,
        content=text,
        terms=repeated_terms(words.impacts),
        vector=vector,
    )


def main(sizes: Sequence[int]) -> None:
    """One Table that grows to each size; at each the same questions are asked in turn."""
    with running() as stack:
        project = stack.call("create_project", name="p")["id"]
        table = stack.call("create_table", project=project, name="t", data="{}")["id"]
        endpoint, tool = stack.tool_over(project, table, "/articles")
        vectors = [stack.embedder.query(question) for question in QUESTIONS]
        strings = 0
        for size in sorted(sizes):
            for first in range(strings, size // 2, 250):
                store(stack, project, table, list(versions(first, min(first + 250, size // 2))))
            strings = size // 2
            timed, whole = TimedStore(stack.store), []
            for call in range(CALLS + 5):
                turn = call % len(QUESTIONS)
                search = SearchTable(stack.records, timed, KnownQuestion(vectors[turn]), CALIBRATION)
                started = time.perf_counter()
                search(endpoint.id, tool, QUESTIONS[turn], top_k=5)
                whole.append((time.perf_counter() - started) * 1000)
                if timed.chunks < 100:
                    raise LookupError(f"Only {timed.chunks} chunks")
            # The first of each question warms up.
            ours = [all - theirs for all, theirs in zip(whole[5:], timed.times[5:], strict=True)]
            print(f"{size:7d} chunks, {CALLS} searches, ours  {quantiles(ours)}")
            print(f"{'':34}store {quantiles(timed.times[5:])}", flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])
