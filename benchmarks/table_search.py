"""How long a Search Tool takes over so many chunks: the store's time, and all of ours around it.

The workers' own code indexes them, one message after the other; vectors are hashes of their texts.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sakuin.tables.chunk_store import ChunkStore, Found
from sakuin.tables.search import SearchTable

from benchmarks.table_stack import WEIGHTS, KnownQuestion, large_string, quantiles, running

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


def main(sizes: Sequence[int]) -> None:
    """One Table that grows to each size; at each the same questions are asked in turn."""
    with running() as stack:
        project = stack.call("create_project", name="p")["id"]
        table = stack.call("create_table", project=project, name="t", data="{}")["id"]
        endpoint, tool = stack.tool_over(project, table, "/articles")
        vectors = [stack.embedder.query(question) for question in QUESTIONS]
        for size in sorted(sizes):
            articles = [{"content": large_string(number)} for number in range(size // 2)]
            stack.index_document(project, table, {"articles": articles}, stack.embedder)
            timed, whole = TimedStore(stack.store), []
            for call in range(CALLS + 5):
                turn = call % len(QUESTIONS)
                search = SearchTable(stack.records, timed, KnownQuestion(vectors[turn]), WEIGHTS)
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
