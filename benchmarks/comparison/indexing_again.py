"""Indexing again: what unchanged pages and a changed one cost."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path

import psycopg
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.platform.supabase.client import connected
from sakuin.wiring import index_material
from sakuin_local.supabase.database import running_database

from benchmarks.comparison import data
from benchmarks.comparison.own_server import postgrest_of
from benchmarks.comparison.report import SAKUIN, Section, by_turns
from benchmarks.comparison.server import PEERS_PYTHON, Caller, running_server
from tests.rest_prefix import served_below_prefix
from tests.worlds import World

RUNS, PAGES = 3, 20
# Indexes pages by key, and counts what it did.
Put = Callable[[dict[str, str]], dict[str, int]]
_OURS = "Postgres and PostgREST; everything durable"


def sections(folder: Path) -> Iterator[Section]:
    """Yields unchanged pages, and a page with a change."""
    with running_server(PEERS_PYTHON, "peers.frameworks") as port, own_pages(folder / "database") as put:
        peers = Caller(port)
        settings = peers.call("settings", {"kind": "indexes"})
        puts = {SAKUIN: put} | {name: _of_peer(peers, name, folder / "pages.json") for name in settings}
        settings[SAKUIN] = _OURS
        pages = {f"page-{at}.html": data.page(at) for at in range(PAGES)}
        for put_pages in puts.values():
            put_pages(pages)
        yield _section(f"Indexing {PAGES} unchanged pages", settings, puts, lambda _number: pages)
        yield _section(
            "Indexing a page with one change",
            settings,
            puts,
            lambda number: {"page-0.html": data.page(0, f"第{number}版。")},
        )


def _of_peer(peers: Caller, name: str, file: Path) -> Put:
    def put(pages: dict[str, str]) -> dict[str, int]:
        file.write_text(json.dumps(pages), "utf-8")
        return peers.call("put", {"name": name, "file": str(file)})

    return put


def _section(
    title: str, settings: dict[str, str], puts: dict[str, Put], pages: Callable[[int], dict[str, str]]
) -> Section:
    counts: dict[str, dict[str, int]] = {}

    def contestant(name: str) -> Callable[[], float]:
        numbers = count()

        def index() -> float:
            some, began = pages(next(numbers)), time.perf_counter()
            counts[name] = puts[name](some)
            return (time.perf_counter() - began) * 1000

        return index

    times = by_turns({name: contestant(name) for name in puts}, RUNS)
    remark = "Vectors are hashes of their texts: no model is timed. Theirs is in memory, ours survives a restart."
    return Section(title, remark, "ms", times, settings, counts)


class _Deployed(World):
    """The world with one worker, which is built once, as deployed."""

    @cached_property
    def events(self) -> BucketEvents:  # type: ignore[override]
        return index_material.bucket_events(self.clients)


@contextmanager
def own_pages(folder: Path) -> Iterator[Put]:
    """Pages through the function of the material queue, in a database of its own."""
    with (
        running_database(folder) as database,
        served_below_prefix(postgrest_of(folder)) as url,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        world = _Deployed(database, connected(url, database.service_key), sql)
        embedder = world.embedder

        def put(pages: dict[str, str]) -> dict[str, int]:
            calls, texts = embedder.calls, len(embedder.embedded)
            [(begin,)] = sql.execute("select pg_current_xact_id()::text::bigint").fetchall()
            for key, html in pages.items():
                world.put(key, html.encode())
            # No page of this benchmark loses a chunk.
            changed = "select count(*) from public.knowledge_chunks where xmin::text::bigint > %s"
            [(written,)] = sql.execute(changed, [begin]).fetchall()
            calls, texts = embedder.calls - calls, len(embedder.embedded) - texts
            return {"embedding calls": calls, "texts embedded": texts, "rows written": written}

        yield put
