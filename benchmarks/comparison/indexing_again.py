"""Indexing again: what unchanged pages, a changed one, and a change in a large Table cost."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import psycopg
from moto import mock_aws
from sakuin.knowledge.bucket_events import BucketEvents
from sakuin.platform.s3 import S3Bucket
from sakuin.wiring import index_material
from sakuin.wiring.index_versions import recorded_versions
from sakuin_cli.site.config import Site
from sakuin_cli.site.plan import plan_of
from sakuin_cli.site.uploads import uploads_below
from sakuin_local.supabase.database import running_database

from benchmarks.comparison import data
from benchmarks.comparison.measure import PEERS_PYTHON, SAKUIN, Run, Section, by_turns, rows
from benchmarks.comparison.own_server import client_of, postgrest_of
from benchmarks.comparison.worker import Worker
from benchmarks.table_stack import HashedEmbedder, TableStack, running
from tests.worlds import World

RUNS = 3
PAGES = 20
# Indexes texts by name, and counts what it did.
Put = Callable[[dict[str, str]], dict[str, int]]
# What a user does with a site: the files are compared with the bucket, and only changed ones are uploaded.
PUSH = "sakuin push"
_PUSHED = "the whole comparison of files and bucket, through boto3 to a stand-in of S3 in memory"
_OURS = "Postgres and PostgREST, and the stand-in of turbopuffer; everything durable"


def sections(run: Run) -> Iterator[Section]:
    """Yields unchanged pages, a page with a change, and a Table with one."""
    with closing(Worker(PEERS_PYTHON, "benchmarks.comparison.peers.indexing")) as peers:
        file = run.place("again") / "texts.json"
        with own_pages() as put, own_push() as push:
            pages = {f"page-{at}.html": data.page(at) for at in range(PAGES)}
            puts = {SAKUIN: put} | _puts(peers, "pages", file)
            _index(puts | {PUSH: push}, pages)
            yield _section(f"Indexing {PAGES} unchanged pages", peers, puts | {PUSH: push}, lambda _number: pages)
            yield _section("Indexing a page with one change", peers, puts, _changed_page)
        with running() as stack:
            strings = _named(data.large_table(run.megabytes))
            puts = {SAKUIN: own_table(stack)} | _puts(peers, "table", file)
            _index(puts, strings)
            last = list(strings)[-1]
            title = f"Indexing a Table of {run.megabytes:g} MB with one change"
            yield _section(title, peers, puts, lambda number: strings | {last: f"第{number}版。{strings[last]}"})


def _puts(peers: Worker, collection: str, file: Path) -> dict[str, Put]:
    def peer(name: str) -> Put:
        def put(texts: dict[str, str]) -> dict[str, int]:
            file.write_text(json.dumps(texts), "utf-8")
            return dict(peers.do("put", name=name, collection=collection, file=str(file)).result)

        return put

    return {name: peer(name) for name in peers.do("names").result}


def _index(puts: dict[str, Put], texts: dict[str, str]) -> None:
    for put in puts.values():
        put(texts)


def _section(title: str, peers: Worker, puts: dict[str, Put], texts: Callable[[int], dict[str, str]]) -> Section:
    counted: dict[str, dict[str, int]] = {}

    def contestant(name: str) -> Callable[[], float]:
        numbers = count()

        def once() -> float:
            given, began = texts(next(numbers)), time.perf_counter()
            counted[name] = {"embedding calls": 0, "texts embedded": 0, "rows written": 0} | puts[name](given)
            return (time.perf_counter() - began) * 1000

        return once

    times = by_turns({name: contestant(name) for name in puts}, RUNS)
    remark = "Vectors are hashes of their texts: no model is timed. Theirs is in memory, ours survives a restart."
    return Section(
        "again", title, remark, "ms", rows(times, {SAKUIN: _OURS, PUSH: _PUSHED} | peers.do("names").result, counted)
    )


def _changed_page(number: int) -> dict[str, str]:
    return {"page-0.html": data.page(0, f"第{number}版。")}


def _named(strings: list[str]) -> dict[str, str]:
    return {f"/articles/{at}/content": text for at, text in enumerate(strings)}


class _Deployed(World):
    """The world with one worker, which is built once and keeps the index versions for five seconds, as deployed."""

    @cached_property
    def events(self) -> BucketEvents:  # type: ignore[override]
        clients = self.clients
        return index_material.bucket_events(clients, recorded_versions(clients))


@contextmanager
def own_pages() -> Iterator[Put]:
    """Pages through the function of the material queue, in a database of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        psycopg.connect(database.dsn_postgres, autocommit=True) as sql,
    ):
        embedder: Any = HashedEmbedder()
        client = client_of(postgrest_of(Path(folder)), database.service_key)
        world = _Deployed(database, client, sql, embedder=embedder)

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


@contextmanager
def own_push() -> Iterator[Put]:
    """The comparison of `sakuin push` with a bucket, and its uploads. Files are written where texts are others."""
    last: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place, mock_aws():
        folder = Path(place)
        client = boto3.client("s3", "us-east-1")
        client.create_bucket(Bucket="materials")
        bucket = S3Bucket(client, "materials")
        # What a comparison asks of the library: no page of this benchmark has a `learns.yml` beside it.
        library: Any = SimpleNamespace(prefix="", etags=lambda: bucket.etags(""))

        def put(texts: dict[str, str]) -> dict[str, int]:
            for name, text in texts.items():
                if last.get(name) is not text:
                    (folder / name).write_text(text, "utf-8")
            last.update(texts)
            uploads = uploads_below([folder], folder="")
            states = plan_of(library, uploads, Site((folder,), "")).states
            changed = [file for file in uploads.files if states[file.key] != "unchanged"]
            for file in changed:
                bucket.write(file.key, Path(file.path).read_bytes(), content_type="text/html")
            return {"rows written": len(changed)}

        yield put


def own_table(stack: TableStack) -> Put:
    """A Table through the functions of its queues, one message after the other."""
    assert stack.place is not None
    folder, database, _ = stack.place
    stack.client = client_of(postgrest_of(folder / "supabase"), database.service_key)
    table = stack.table({})
    stack.tool_over(table, "/articles")
    embedder: Any = stack.embedder
    stack.store = store = CountedStore(stack.store)

    def put(texts: dict[str, str]) -> dict[str, int]:
        embedder.calls.clear()
        store.rows = 0
        articles = [{"content": text} for text in texts.values()]
        stack.index_document(table, {"articles": articles})
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
