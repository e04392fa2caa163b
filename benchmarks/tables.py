"""What it takes to index a Table of so many megabytes: at first, again, and after one edit; then to search it.

The real services, each worker in a child process as on Lambda, two of a kind side by side; messages wait in memory.
Vectors are hashes of their texts, so that everything but the model is measured.
"""

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sakuin.tables.model import BoundTool, Endpoint

from benchmarks.comparison.data import large_table
from benchmarks.comparison.own_server import StoredQuestions
from benchmarks.stack import Timed, quantile
from benchmarks.table_stack import Message, TableStack, running

WORKERS = 2
SEARCHES = 100
QUESTIONS = ("二次方程式の解の公式", "直角三角形の斜辺の長さを求める", "方程式の両辺に同じ数を足す")
EDIT = "吾輩は猫である。"


def step(stack: TableStack, message: Message) -> tuple[list[Message], int, list[int]]:
    """Gives a message to its worker; returns its messages, this process's peak memory in kB, and its embedded texts.

    The world has about 50 MB of modules that no function of Tables loads.
    """
    calls: Any = stack.embedder.calls
    embedded = len(calls)
    messages = stack.work(message)
    # Not ru_maxrss: it begins with what the parent, which made the document, held when it started this process.
    [peak] = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return messages, int(peak.split()[1]), calls[embedded:]


@dataclass
class Bench:
    """One Table on its way through its workers."""

    stack: TableStack
    pools: dict[str, ProcessPoolExecutor]
    peak: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    embedded: list[int] = field(default_factory=list)

    def drain(self, first: Message, until: Callable[[], bool] = lambda: False) -> float | None:
        """Delivers messages until there are none; gives the seconds until `until` held."""
        started, held = time.perf_counter(), None
        pending = {self._sent(first): first[0]}
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for each in done:
                kind = pending.pop(each)
                asked, peak, embedded = each.result()
                self.embedded += embedded
                self.peak[kind] = max(self.peak[kind], peak)
                pending |= {self._sent(message): message[0] for message in asked}
            if held is None and until():
                held = time.perf_counter() - started
        return held

    def _sent(self, message: Message) -> "Future[tuple[list[Message], int, list[int]]]":
        self.messages[message[0]] += 1
        return self.pools[message[0]].submit(step, self.stack, message)

    def run(self, name: str, first: Message, until: Callable[[], bool] = lambda: False) -> None:
        """Delivers everything, and prints what it took."""
        self.messages.clear()
        self.embedded.clear()
        started = time.perf_counter()
        held = self.drain(first, until)
        seconds = time.perf_counter() - started
        print(f"  {name}: {seconds:.1f} s, {self.messages['index']} + {self.messages['embed']} messages,", end=" ")
        print(f"{len(self.embedded)} embedding calls for {sum(self.embedded)} texts", end="")
        print("" if held is None else f", searchable after {held:.2f} s", flush=True)


def measure(stack: TableStack, megabytes: float) -> None:
    """Indexes a new Table three times and prints what each took."""
    strings = large_table(megabytes)
    table = stack.table({})
    endpoint, tool = stack.tool_over(table, "/articles")
    message = ("index", stack.project, table, None, 0)

    def put() -> None:
        articles = [{"title": str(number), "content": text} for number, text in enumerate(strings)]
        stack.upload(table, {"articles": articles})

    def found() -> bool:
        return any("吾輩" in hit.chunk.chunk_text for hit in search(endpoint.id, tool, EDIT, top_k=5).results)

    search = replace(stack.table_search(), embedder=known_questions(stack))
    with ExitStack() as stacked:
        context = multiprocessing.get_context("spawn")
        pools = {kind: stacked.enter_context(ProcessPoolExecutor(WORKERS, context)) for kind in ("index", "embed")}
        bench = Bench(stack, pools)
        put()
        print(f"{megabytes:g} MB, {len(strings)} strings of {len(strings[0].encode()) / 1000:.1f} kB", flush=True)
        bench.run("first", message)
        put()
        bench.run("the same again", message)
        strings[-1] = EDIT + strings[-1]
        put()
        bench.run("last string edited", message, found)
        peaks = ", ".join(f"{kind} {bench.peak[kind] / 1000:.0f} MB" for kind in pools)
        print(f"  peak memory of the largest worker: {peaks}", flush=True)
        status = stack.status(tool.id)
        print(f"  {status['state']}, {status['indexed_chunks_count']} of {status['chunks_count']} chunks", flush=True)
        print(f"  {_searches(stack, endpoint, tool)}", flush=True)


def known_questions(stack: TableStack) -> StoredQuestions:
    """Returns an `Embedder` that has the vectors already, so that asking is neither timed nor counted."""
    return StoredQuestions({query: stack.embedder.query(query) for query in (*QUESTIONS, EDIT)})


def _searches(stack: TableStack, endpoint: Endpoint, tool: BoundTool) -> str:
    """Returns what a search takes: of our own code and Postgres, and of the store."""
    store: Any = Timed(stack.store)
    search = replace(stack.table_search(), store=store, embedder=known_questions(stack))
    parts: dict[str, list[float]] = {"ours": [], "the store": []}
    for number in range(-len(QUESTIONS), SEARCHES):
        before, started = store.seconds, time.perf_counter()
        search(endpoint.id, tool, QUESTIONS[number % len(QUESTIONS)], top_k=5)
        whole, in_store = time.perf_counter() - started, store.seconds - before
        # The first of each question warms up.
        if number >= 0:
            parts["ours"].append((whole - in_store) * 1000)
            parts["the store"].append(in_store * 1000)
    said = (
        f"{name} p50 {quantile(part, 0.5):.1f} ms, p95 {quantile(part, 0.95):.1f} ms" for name, part in parts.items()
    )
    return f"{SEARCHES} searches: {'; '.join(said)}"


if __name__ == "__main__":
    with running() as started:
        for size in sys.argv[1:] or ("1", "10", "50"):
            measure(started, float(size))
