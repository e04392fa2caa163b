"""What comparing Tables with the store costs in a night: calls and seconds, for so many Tables.

usage: .venv/bin/python -m benchmarks.reconcile [10 1000]

The real database behind PostgREST and the store's stand-in; the Tables, of one string in two chunks, are written into
both as an index leaves them.
"""

import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psycopg
from sakuin.platform.embedding import EmbeddingModel
from sakuin.platform.supabase.client import connected
from sakuin.retrieval.index_version import TableCut, TableIndexVersion
from sakuin.tables.chunk_store import namespace
from sakuin.tables.postgres import TableIndex
from sakuin.tables.reconcile import ReconcileTables, TableSummaries
from sakuin.tables.turbopuffer.client import connected as store_connected
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin_local.serving import served
from sakuin_local.supabase.database import Database, running_database
from sakuin_local.turbopuffer.endpoint import application
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.store import Store

FINGERPRINT = TableIndexVersion(EmbeddingModel("hashed", 8), TableCut())
TABLES = """
with made as (
  insert into context_table (project_id, name, data, version, shown_fingerprint)
  select %(project)s, 't', '{}', 1, %(fingerprint)s from generate_series(1, %(number)s) returning id
), scanned as (
  insert into table_scan (table_id, fingerprint, generation) select id, %(fingerprint)s, 1 from made
), nodes as (
  insert into node (table_id, fingerprint, pointer_hash, json_pointer, content_hash, generation, wanted_hash,
                    wanted_generation, wanted_chunks)
  select id, %(fingerprint)s, 'p', '/a', 'c', 1, 'c', 1, 2 from made
), stored as (
  insert into chunks (table_id, fingerprint, pointer_hash, json_pointer, content_hash, chunk_index, total_chunks,
                      chunk_text, char_start, char_end, turbopuffer_namespace, turbopuffer_doc_id, indexed_at)
  select id, %(fingerprint)s, 'p', '/a', 'c', i, 2, 'x', 0, 1, 'n', i::text, now() from made, generate_series(0, 1) i
)
select id::text from made
"""


@dataclass
class Called:
    """A part of the outside whose calls are counted."""

    real: Any
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.real, name)


def main(numbers: list[int]) -> None:
    """Prints a line for each number of Tables."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        database = stack.enter_context(running_database(Path(folder) / "supabase"))
        port = stack.enter_context(served(application(Store(Path(folder) / "turbopuffer.sqlite", AT_ONCE))))
        for number in numbers:
            measure(number, database, f"http://127.0.0.1:{port}")


def measure(number: int, database: Database, store_url: str) -> None:
    """Makes the Tables, and compares them as a night does."""
    client = connected(database.rest_url, database.service_key)
    store = Called(TurbopufferChunkStore(store_connected(store_url, "any")))
    summaries = Called(TableSummaries(client, FINGERPRINT.id))
    asked: list[httpx.Request] = []
    client.session.event_hooks["request"] = [asked.append]
    make(number, database, store.real)
    run = ReconcileTables(summaries, TableIndex(client, FINGERPRINT), store, Called(None), "")
    print(f"{number} Tables")
    spent("a night", store, asked, lambda: _whole(run))


def make(number: int, database: Database, store: TurbopufferChunkStore) -> None:
    """So many Tables in both, and no others."""
    with psycopg.connect(database.dsn_postgres) as sql:
        sql.execute("truncate project cascade")
        row = sql.execute("insert into project (name) values ('p') returning id::text").fetchone()
        if row is None:
            raise AssertionError("the project was not made")
        names = {"project": row[0], "fingerprint": FINGERPRINT.id, "number": number}
        ids = [one[0] for one in sql.execute(TABLES.encode(), names)]
    for table in ids:
        rows: list[Any] = [{"id": str(i), "vector": [1.0] * 8, "generation": 1} for i in range(2)]
        store.client.namespace(namespace(row[0], table)).write(upsert_rows=rows, distance_metric="cosine_distance")


def spent(what: str, store: Called, asked: list[httpx.Request], work: Any) -> None:
    """Prints what a piece of work costs."""
    store.calls.clear()
    asked.clear()
    began = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - began
    print(f"  {what}: {len(asked)} to Postgres, {dict(store.calls)} to the store, {seconds:.2f} s, {found} findings")


def _whole(run: ReconcileTables) -> int:
    found, after = 0, None
    while True:
        walked = run.page(after, dry_run=False, is_over=lambda: False)
        found += len(walked.differences)
        after = walked.after
        if after is None:
            return found


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [10, 1000])
