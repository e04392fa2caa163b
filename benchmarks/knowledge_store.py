"""Pages searched in turbopuffer's stand-in, beside Postgres: what a question costs, and a page as the index grows.

`search [N …]`: `large_index` fills Postgres with N explanations, the stand-in gets the same ones, and both are asked.
`index [N …]`: one worker processes the messages of pages with short texts and fixed vectors until the index has 10,000
explanations; from there on both stores are filled with copies of them, and the worker processes 200 pages more at each
size. Then some of them again: unchanged, with one change, and a late older version. Trust counts and processor time.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import psutil
import psycopg
from sakuin.knowledge.model import EVERYTHING, HIGHEST_IMPACT
from sakuin.knowledge.postgres_search import KnowledgeSearch, PostgresChunks, Question
from sakuin.knowledge.turbopuffer import _ATTRIBUTES as ATTRIBUTES
from sakuin.knowledge.turbopuffer import TurbopufferChunks, namespace, row_id
from sakuin.knowledge.turbopuffer import _searched as searched_row
from sakuin.language.model import IndexedWords, Slot, WeightedTerm
from sakuin.platform.embedding import DIMENSIONS, Vector
from sakuin.platform.run_all import in_portions
from sakuin.platform.supabase.client import connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.platform.turbopuffer.documents import DISTANCE, documents, schema
from sakuin.platform.turbopuffer.rows import TurbopufferRows
from sakuin.retrieval.index_version import PageIndexVersion
from sakuin_local.addresses import free_port
from sakuin_local.processes import Programs
from sakuin_local.supabase.database import Database, running_database
from sakuin_local.turbopuffer.pace import AT_ONCE
from sakuin_local.turbopuffer.store import Store
from sakuin_local.vendors import start_turbopuffer
from turbopuffer import DefaultHttpxClient

from benchmarks.large_index import filled_index
from tests.builders import a_chunk, a_page
from tests.doubles.bucket import MemoryBucket
from tests.doubles.embedder import WEIGHTS, MemoryEmbedder
from tests.worlds import SETTINGS, World

LIBRARY = "samples"
IN_POSTGRES, IN_TURBOPUFFER = "s", "turbopuffer-s"
# Explanations of a page whose message is processed, and pages that are measured at each size.
EXPLANATIONS, MEASURED = 100, 10
# So many explanations are indexed by the product before they are copied, and pages by the product at each size.
COPIED, PROCESSED = 10_000, 200
NUMBERS = 64
_SENTENCES = (
    "解の公式に係数を代入する",
    "両辺に同じ数を足す",
    "グラフの傾きを読む",
    "確率を場合の数で求める",
    "角の和を調べる",
)


_CHUNK = a_chunk("page", "rule-1", "文")


class Counts(Counter[str]):
    """Requests and sent bytes by service."""

    def hooks(self, service: str) -> dict[str, list[Callable[[Any], None]]]:
        """Returns the hooks of a client of httpx."""

        def count(request: Any) -> None:
            self[f"calls of {service}"] += 1
            self[f"bytes to {service}"] += len(request.read())

        return {"request": [count]}


@dataclass(frozen=True, slots=True)
class Servers:
    """The database and the stand-in."""

    database: Database
    folder: Path
    store: str

    @property
    def file(self) -> Path:
        """The file of the stand-in."""
        return self.folder / "turbopuffer" / "turbopuffer.sqlite"

    def clients(self, counts: Counts) -> tuple[Any, TurbopufferRows]:
        """Returns what speaks to them, and counts."""
        client = connected(self.database.rest_url, self.database.service_key)
        client.session.event_hooks = counts.hooks("Postgres")
        session = DefaultHttpxClient(event_hooks=counts.hooks("turbopuffer"))
        return client, TurbopufferRows(store_connected(self.store, "any", session))

    def seconds(self) -> Counter[str]:
        """Returns the processor seconds of each program until now."""
        used: Counter[str] = Counter()
        for each in psutil.Process().children(recursive=True):
            command = " ".join(each.cmdline())
            programs = ("sakuin_local.turbopuffer", "postgrest", "postgres")
            name = next((name for name in programs if name in command), None)
            if name:
                times = each.cpu_times()
                used[name.rpartition(".")[2]] += times.user + times.system
        return used

    def sizes(self, sql: psycopg.Connection) -> str:
        """Returns the size of the database, and the memory of the stand-in."""
        [(megabytes,)] = sql.execute("select pg_database_size(current_database()) / 1000000").fetchall()
        stand_ins = [p for p in psutil.Process().children() if "sakuin_local.turbopuffer" in " ".join(p.cmdline())]
        return f"database {megabytes:,} MB, stand-in {stand_ins[0].memory_info().rss / 1e6:,.0f} MB"


@contextmanager
def running(database: Database) -> Iterator[tuple[Servers, Programs]]:
    """Starts the stand-in beside a database, in a folder that is gone when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="sakuin-benchmark-"))
    programs = Programs(folder)
    try:
        port = free_port()
        start_turbopuffer(folder, programs, port=port)
        yield Servers(database, folder, f"http://127.0.0.1:{port}"), programs
    finally:
        programs.stop()
        shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------- search


def search(count: int) -> None:
    """Prints what a question costs in both stores, and how often their results are the same."""
    began = time.perf_counter()
    with (
        filled_index(np.random.default_rng(7), count) as (database, sql, drawn),
        running(database) as (servers, programs),
    ):
        counts = Counts()
        client, rows = servers.clients(counts)
        _end_stand_in()
        _store(sql, servers.file, LIBRARY)
        _start_stand_in(servers, programs, namespace(LIBRARY, IN_TURBOPUFFER))
        print(f"{count:,} explanations are stored after {time.perf_counter() - began:,.0f} s", flush=True)
        chunks = PostgresChunks(client)
        stores = {IN_POSTGRES: chunks, IN_TURBOPUFFER: TurbopufferChunks(chunks, rows, LIBRARY)}
        results: dict[str, list[list[str]]] = {name: [] for name in stores}
        print(f"{count:,} explanations, {len(drawn)} questions; {servers.sizes(sql)}")
        for name, store in stores.items():
            answer = KnowledgeSearch(store, WEIGHTS).answer
            questions = [_question(vector, slots, name) for vector, slots in drawn]
            for question in questions:
                answer(question)
            counts.clear()
            before, own = servers.seconds(), time.thread_time()
            for question in questions:
                results[name].append([each.id for each in answer(question).matches])
            used = servers.seconds() - before + Counter({"own": time.thread_time() - own})
            each = {key: f"{value / len(questions):,.1f}" for key, value in sorted(counts.items())}
            milliseconds = {key: f"{value * 1000 / len(questions):,.1f}" for key, value in sorted(used.items())}
            print(f"{name}: {each}, processor milliseconds {milliseconds}", flush=True)
        pairs = list(zip(*results.values(), strict=True))
        first = sum(a[:1] == b[:1] for a, b in pairs)
        shared = np.mean([len({*a} & {*b}) / max(len(a), 1) for a, b in pairs])
        print(f"the same first result: {first} of {len(pairs)}; of ten results the same: {shared * 10:.2f}", flush=True)


def _store(sql: psycopg.Connection, file: Path, library: str) -> None:
    """Stores the explanations of Postgres in the file of the stand-in, too, with the rows that a worker writes."""
    fields = {"fingerprint": "g", "space": IN_TURBOPUFFER, "model": "m", "dimensions": DIMENSIONS, "query_prefix": ""}
    fields |= {"passage_prefix": "", "text_template": "r", "analyzer": "a", "vocabulary": ""}
    sql.execute("select record_page_index_version(%s)", [json.dumps(fields)])
    sql.execute("delete from index_version")
    for statement in (
        "insert into knowledge_vector select %s, text_hash, embedding from knowledge_vector where space = %s",
        "insert into embedded_text select id, %s, text_hash from embedded_text where space = %s",
    ):
        sql.execute(statement.encode(), [IN_TURBOPUFFER, IN_POSTGRES])
    store, stored = Store(file, AT_ONCE), []
    query = (
        "select k.material, k.anchor, k.type, k.category, k.level, k.text_hashes, w.terms, w.impacts, "
        "translate(encode(halfvec_send(v.embedding), 'base64'), chr(10), '') "
        "from knowledge_chunks k join chunk_words w using (id) "
        "join knowledge_vector v on v.space = %s and v.text_hash = k.text_hashes[1]"
    )
    with sql.transaction(), sql.cursor("explanations") as rows:
        rows.itersize = 1_000
        rows.execute(query, [IN_POSTGRES])
        for portion in in_portions(rows, lambda _row: 1, lambda count, _size: count > 1_000):
            write: dict[str, Any] = {"upsert_rows": [], "distance_metric": DISTANCE}
            for material, anchor, kind, category, level, hashes, terms, impacts, vector in portion:
                weights = dict(zip(terms, (impact / HIGHEST_IMPACT for impact in impacts), strict=True))
                chunk = replace(
                    _CHUNK,
                    **{"id": f"{material}#{anchor}", "material": material, "anchor": anchor, "type": kind},
                    **{"category": category, "level": level, "text_hashes": tuple(hashes)},
                    words=IndexedWords(weights, frozenset()),
                )
                row = searched_row(row_id(chunk), chunk, [vector], 1)
                write["upsert_rows"] += documents(row)
                stored.append((IN_TURBOPUFFER, row.id, chunk.id, 1))
            write["schema"] = schema(DIMENSIONS, ATTRIBUTES)
            store.write(namespace(library, IN_TURBOPUFFER), write)
    with sql.cursor().copy("copy stored_row (space, row_id, id, generation) from stdin") as copy:
        for each in stored:
            copy.write_row(each)
    sql.execute("vacuum analyze")


def _question(vector: str, slots: str, space: str) -> Question:
    words = [Slot(each["kind"], tuple(WeightedTerm(**term) for term in each["terms"])) for each in json.loads(slots)]
    return Question(json.loads(vector), words, cast(PageIndexVersion, SimpleNamespace(space=space)), EVERYTHING, 10)


# ---------------------------------------------------------------- indexing


class FixedEmbedder(MemoryEmbedder):
    """An `Embedder` with sixteen vectors, one for the hash of each text."""

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += bool(texts)
        return [_fixed(zlib.crc32(text.encode()) % 16) for text in texts]


def _fixed(number: int) -> Vector:
    numbers = np.random.default_rng(number).normal(size=NUMBERS)
    return [*(numbers / np.linalg.norm(numbers)).tolist(), *[0.0] * (DIMENSIONS - NUMBERS)]


@dataclass
class IndexingWorker:
    """The function of the material queue, as a process keeps it."""

    servers: Servers
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        client, rows = self.servers.clients(self.counts)
        sql = psycopg.connect(self.servers.database.dsn, autocommit=True)
        self.embedder, self.bucket = FixedEmbedder(), MemoryBucket()
        settings = replace(SETTINGS, store="turbopuffer")
        self.world = World(
            *(self.servers.database, client, sql),
            **{"settings": settings, "store": rows, "embedder": self.embedder, "bucket": self.bucket},
        )
        # What searches load is no growth.
        self.world.search("確率")

    def process(self, number: int, contents: Sequence[int], which: int = -1) -> Counter[str]:
        """Uploads these contents of a page, one after the other; returns what one of the messages takes."""
        self.bucket.begin_anew()
        for content in contents:
            self.bucket.write(f"folder-{number % 50}/page-{number}.html", _page(number, content))
        message = self.bucket.take_messages()[which]
        self.counts.clear()
        calls, began = self.embedder.calls, time.process_time()
        result = self.world.deliver(message).result
        assert result is not None
        used = Counter(self.counts)
        used["ms of the worker"] = (time.process_time() - began) * 1000
        used["embedding calls"] = self.embedder.calls - calls
        used[result.applied.outcome] = 1
        return used

    def ask(self, queries: Sequence[str]) -> Counter[str]:
        """Asks questions; returns what they take together."""
        search = self.world.search
        search(queries[0])
        self.counts.clear()
        began = time.process_time()
        for query in queries:
            search(query)
        return Counter({**self.counts, "ms of the worker": (time.process_time() - began) * 1000})


def _page(number: int, content: int) -> bytes:
    """Returns a page; another content is another sentence of its last explanation."""
    boxes = {
        f"rule-{place}": f"{number}の{place}: {_SENTENCES[(number + place) % len(_SENTENCES)]}。"
        for place in range(EXPLANATIONS)
    }
    boxes[f"rule-{EXPLANATIONS - 1}"] += f"{content}回目の版。"
    return a_page(boxes, title=f"第{number}章")


_workers: list[IndexingWorker] = []


def _start(servers: Servers) -> None:
    _workers.append(IndexingWorker(servers))


def _process(number: int, contents: Sequence[int] = (0,), which: int = -1) -> Counter[str]:
    return _workers[0].process(number, contents, which)


def _process_all(numbers: range) -> tuple[Counter[str], float]:
    """Returns what the messages of new pages take together, and the megabytes of this process then."""
    used = sum((_process(number) for number in numbers), Counter[str]())
    return used, psutil.Process(os.getpid()).memory_info().rss / 1e6


def _ask() -> Counter[str]:
    """Returns what twenty questions take together."""
    return _workers[0].ask([f"{number}の{number}: {_SENTENCES[number % len(_SENTENCES)]}" for number in range(20)])


def index(sizes: Sequence[int]) -> None:
    """Prints what a page costs in an index of each size."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_database(Path(folder)) as database,
        running(database) as (servers, programs),
        psycopg.connect(servers.database.dsn, autocommit=True) as sql,
        ProcessPoolExecutor(1, get_context("spawn"), _start, (servers,)) as worker,
    ):
        done = 0
        for size in sizes:
            if size > COPIED:
                began = time.perf_counter()
                batches = range(done, size // EXPLANATIONS - PROCESSED, COPIED // EXPLANATIONS)
                _copy_in_postgres(sql, batches)
                _copy_in_stand_in(servers, programs, batches)
                done = size // EXPLANATIONS - PROCESSED
                print(f"\nfilled with copies in {time.perf_counter() - began:,.0f} s, {servers.sizes(sql)}", flush=True)
            _process_and_print(servers, worker, range(done, size // EXPLANATIONS))
            done = size // EXPLANATIONS
            print(f"{servers.sizes(sql)}; {_rows(servers, sql)}", flush=True)


def _process_and_print(servers: Servers, worker: ProcessPoolExecutor, pages: range) -> None:
    """Processes new pages and prints what they take, the last ones one by one."""
    # Contents of a page, and which of their messages is measured.
    kinds: dict[str, tuple[tuple[int, ...], int]] = {
        "a new page": ((0,), -1),
        "the same again": ((0, 0), -1),
        "one explanation changed": ((0, 0, 1), -1),
        "an older version, late": ((0, 0, 1), 1),
    }
    most, last = pages[:-MEASURED], pages[-MEASURED:]
    before = servers.seconds()
    used, megabytes = worker.submit(_process_all, most).result()
    print(f"{pages.stop * EXPLANATIONS:,} explanations: {len(most):,} messages, {_each(used, len(most))},", end=" ")
    print(f"processor milliseconds {_each(servers.seconds() - before, len(most), 1000)}, worker {megabytes:,.0f} MB")
    for kind, (contents, which) in kinds.items():
        before = servers.seconds()
        those = [worker.submit(_process, number, contents, which).result() for number in last]
        middle = {key: median(one[key] for one in those) for key in sorted({key for one in those for key in one})}
        print(f"{kind}: {_each(middle)}, processor milliseconds {_each(servers.seconds() - before, MEASURED, 1000)}")
    print(f"a question: {_each(worker.submit(_ask).result(), 20)}")


def _each(values: Mapping[str, float], count: int = 1, factor: float = 1) -> dict[str, str]:
    return {name: f"{factor * value / count:,.1f}" for name, value in sorted(values.items())}


# The explanations that are copied.
_ORIGINAL = f"/page-[0-9]{{1,{len(str(COPIED // EXPLANATIONS)) - 1}}}(#|$)"
_NEW_ID, _NEW_MATERIAL = "replace(id, '#', %(s)s || '#')", "material || %(s)s"
_COPIES = {
    "material": {"material": _NEW_MATERIAL, "key": "key || %(s)s"},
    "knowledge_chunks": {"id": _NEW_ID, "material": _NEW_MATERIAL},
    "chunk_words": {"id": _NEW_ID, "material": _NEW_MATERIAL},
    "embedded_text": {"id": _NEW_ID},
    "stored_row": {"id": _NEW_ID, "row_id": "md5(row_id || %(s)s)"},
}


def _copy_in_postgres(sql: psycopg.Connection, batches: range) -> None:
    """Copies the explanations that the product indexed first."""
    sql.execute("set search_path = public, extensions")
    sql.execute("set work_mem = '256MB'")
    sql.execute("set session_replication_role = replica")
    [(last,)] = sql.execute("select max(number) from chunk_words").fetchall()
    for batch in batches:
        for table, changed in _COPIES.items():
            names = sql.execute(
                "select column_name from information_schema.columns where table_schema = 'public' and table_name = %s "
                "and is_identity = 'NO' and is_generated = 'NEVER'",
                [table],
            ).fetchall()
            values = ", ".join(changed.get(name, name) for (name,) in names)
            where = f"{'material' if table == 'material' else 'id'} ~ %(original)s"
            where += " and is_current" if table == "chunk_words" else ""
            columns = ", ".join(name for (name,) in names)
            query = f"insert into {table} ({columns}) select {values} from {table} where {where}"  # noqa: S608
            sql.execute(query.encode(), {"s": f"~{batch}", "original": _ORIGINAL})
    sql.execute(
        """
        insert into posting as p (term, block, chunks, impacts)
        select u.term, posting_block(m.number), array_agg(w.number order by w.number),
          array_agg(u.impact order by w.number)
        from chunk_words w join material m using (material)
        cross join lateral unnest(w.terms, w.impacts) as u(term, impact)
        where w.number > %s group by 1, 2
        on conflict (term, block) do update set
          chunks = p.chunks || excluded.chunks, impacts = p.impacts || excluded.impacts
        """,
        [last],
    )
    sql.execute("set session_replication_role = origin")
    sql.execute("vacuum analyze")


def _copy_in_stand_in(servers: Servers, programs: Programs, batches: range) -> None:
    """Copies their rows in the file of the stand-in, which is started again."""
    with psycopg.connect(servers.database.dsn) as sql:
        query = "select row_id from public.stored_row where id ~ %s"
        current = {id for (id,) in sql.execute(query, [_ORIGINAL]).fetchall()}
    _end_stand_in()
    with sqlite3.connect(servers.file, isolation_level=None) as rows:
        rows.create_function("md5", 1, lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest())
        rows.create_function("is_current", 1, lambda id: id in current)
        rows.execute("begin immediate")
        for batch in batches:
            rows.execute(
                """
                insert into document (namespace, id, attributes, texts, vector)
                select namespace, json_quote(md5(json_extract(id, '$') || :s)), cast(json_set(cast(attributes as text),
                  '$.chunk', md5(json_extract(id, '$') || :s), '$.material',
                  json_extract(cast(attributes as text), '$.material') || :s) as blob), texts, vector
                from document where is_current(json_extract(id, '$'))
                """,
                {"s": f"~{batch}"},
            )
        rows.execute("commit")
        [(name,)] = rows.execute("select name from namespace").fetchall()
    _start_stand_in(servers, programs, name)


def _end_stand_in() -> None:
    for each in psutil.Process().children():
        if "sakuin_local.turbopuffer" in " ".join(each.cmdline()):
            each.terminate()
            each.wait()


def _start_stand_in(servers: Servers, programs: Programs, name: str) -> None:
    """Starts the stand-in, which reads its file before it answers."""
    start_turbopuffer(servers.folder, programs, port=int(servers.store.rpartition(":")[2]))
    headers = {"Authorization": "Bearer any"}
    httpx.get(f"{servers.store}/v2/namespaces/{name}/metadata", headers=headers, timeout=3_000).raise_for_status()


def _rows(servers: Servers, sql: psycopg.Connection) -> str:
    """Says which rows there are, and how many are current."""
    settings = replace(SETTINGS, store="turbopuffer")
    [(rows, current)] = sql.execute(
        "select count(*), count(id) from public.stored_row where space = %s", [settings.pages.space]
    ).fetchall()
    [name] = servers.clients(Counts())[1].namespaces("pages_")
    stored = store_connected(servers.store, "any").namespace(name).metadata().approx_row_count
    return f"rows: {rows:,} recorded, {current:,} of them current, {stored:,} stored"


if __name__ == "__main__":
    given = [int(size) for size in sys.argv[2:]]
    if sys.argv[1:2] == ["index"]:
        index(given or [2_000, 10_000])
    else:
        for size in given or [10_000]:
            search(size)
