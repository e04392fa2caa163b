"""Indexing again: what unchanged pages, a changed one, and a change in a large Table cost."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from sakuin.platform.supabase.client import connected
from sakuin_local.supabase.database import running_database

from benchmarks.comparison import data
from benchmarks.comparison.measure import SAKUIN, Contestant, Section, by_turns, rows
from benchmarks.comparison.worker import Worker
from benchmarks.table_stack import HashedEmbedder, Stack, running
from tests.worlds import World

RUNS = 3
PAGES = 20
# Indexes texts by name, and counts what it did.
Put = Callable[[dict[str, str]], dict[str, int]]
_OURS = "Postgres and PostgREST as deployed, and the stand-in of turbopuffer; everything durable"


@dataclass(frozen=True, slots=True)
class IndexingAgain:
    """`folder` takes the data that the processes share."""

    peers: Worker
    folder: Path
    megabytes: float

    def sections(self) -> Iterator[Section]:
        """Yields the three answers."""
        with own_pages() as put:
            pages = {f"page-{at}.html": data.page(at) for at in range(PAGES)}
            contestants = self._contestants("pages", put)
            self._run(contestants, pages)
            yield self._section(f"Indexing {PAGES} unchanged pages", contestants, lambda _run: pages)
            changed = lambda run: {"page-0.html": data.page(0, f"第{run}版。")}  # noqa: E731
            yield self._section("Indexing a page with one change", contestants, changed)
        with running() as stack:
            strings = data.large_table(self.megabytes)
            contestants = self._contestants("table", own_table(stack))
            self._run(contestants, dict(enumerate_names(strings)))
            table = lambda run: dict(enumerate_names([*strings[:-1], f"第{run}版。{strings[-1]}"]))  # noqa: E731
            yield self._section(f"Indexing a Table of {self.megabytes:g} MB with one change", contestants, table)

    def _contestants(self, collection: str, own: Put) -> dict[str, tuple[str, Put]]:
        def peer(name: str) -> Put:
            def put(texts: dict[str, str]) -> dict[str, int]:
                file = self.folder / "again.json"
                file.write_text(json.dumps(texts), "utf-8")
                result: dict[str, int] = self.peers.do("put", name=name, collection=collection, file=str(file)).result
                return result

            return put

        peers = self.peers.do("names").result
        return {SAKUIN: (_OURS, own)} | {name: (said, peer(name)) for name, said in peers.items()}

    def _run(self, contestants: dict[str, tuple[str, Put]], texts: dict[str, str]) -> None:
        for _, put in contestants.values():
            put(texts)

    def _section(
        self, title: str, contestants: dict[str, tuple[str, Put]], texts: Callable[[int], dict[str, str]]
    ) -> Section:
        counted: dict[str, dict[str, int]] = {}

        def timed(name: str, put: Put) -> Callable[[], float]:
            runs = iter(range(RUNS + 1))

            def once() -> float:
                given = texts(next(runs))
                began = time.perf_counter()
                counted[name] = {"embedding calls": 0, "texts embedded": 0, "rows written": 0} | put(given)
                return (time.perf_counter() - began) * 1000

            return once

        times = by_turns([Contestant(name, said, timed(name, put)) for name, (said, put) in contestants.items()], RUNS)
        settings = {name: said for name, (said, _) in contestants.items()}
        remark = "Vectors are hashes of their texts: no model is timed. Theirs is in memory, ours survives a restart."
        return Section("again", title, remark, "ms", rows(times, settings, counted))


def enumerate_names(strings: list[str]) -> Iterator[tuple[str, str]]:
    """Yields each string with a name."""
    yield from ((f"/articles/{at}/content", text) for at, text in enumerate(strings))


@contextmanager
def own_pages() -> Iterator[Put]:
    """Pages through the function of the material queue, in a database of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        embedder: Any = HashedEmbedder()
        world = World(database, connected(database.rest_url, database.service_key), sql, embedder=embedder)

        def put(texts: dict[str, str]) -> dict[str, int]:
            embedder.calls.clear()
            [(begin,)] = sql.execute("select pg_current_xact_id()::text::bigint").fetchall()
            for key, html in texts.items():
                world.put(key, html.encode())
            # No page of this benchmark loses a chunk.
            changed = "select count(*) from public.knowledge_chunks where xmin::text::bigint > %s"
            [(written,)] = sql.execute(changed, [begin]).fetchall()
            return _counts(embedder, written)

        yield put


def own_table(stack: Stack) -> Put:
    """A Table through the functions of its queues, one message after the other."""
    project = stack.call("create_project", name="p")["id"]
    table = stack.call("create_table", project=project, name="t", data=None)["id"]
    stack.tool_over(project, table, "/articles")
    embedder, store = HashedEmbedder(), CountedStore(stack.store)
    # A cached property: the workers of this process use it from now on.
    vars(stack)["store"] = store

    def put(texts: dict[str, str]) -> dict[str, int]:
        embedder.calls.clear()
        store.rows = 0
        articles = [{"content": text} for text in texts.values()]
        stack.index_document(project, table, {"articles": articles}, embedder)
        return _counts(embedder, store.rows)

    return put


@dataclass
class CountedStore:
    """A `ChunkStore` that counts the rows that it writes and deletes."""

    store: Any
    rows: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def upsert(self, namespace: str, rows: Any) -> None:
        self.rows += len(rows)
        self.store.upsert(namespace, rows)

    def sweep(self, namespace: str, nodes: Any) -> int:
        deleted: int = self.store.sweep(namespace, nodes)
        self.rows += deleted
        return deleted


def _counts(embedder: HashedEmbedder, rows: int) -> dict[str, int]:
    calls = embedder.calls
    return {"embedding calls": len(calls), "texts embedded": sum(calls), "rows written": rows}
