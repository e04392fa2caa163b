"""Search over MCP: what Sakuin's parts take of a call, and how fast and how right it is beside stores with a tool."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from sakuin.platform.asgi import persistent_handler
from sakuin_local.embeddings.recorded import put_into
from sakuin_local.places import SAMPLES
from sakuin_local.supabase.database import Database, running_database

from benchmarks.comparison import data
from benchmarks.comparison.measure import PEERS_PYTHON, SAKUIN, Run, Section, rows
from benchmarks.comparison.own_server import StoredQuestions, application_of, library_search, postgrest_of
from benchmarks.comparison.server import KEY, REVISION, Caller, running_server
from benchmarks.comparison.serving import called
from benchmarks.general import VECTORS
from benchmarks.stack import Timed
from tests.events import Context, event
from tests.general.cached_model import CachedModel
from tests.general.library import library_in

CALLERS = (1, 8, 32)
RUNS = 3
# Each question once a run.
CALLS = 72
STORES = "benchmarks.comparison.peers.stores"
_A_PAGE = 24
_LABELS = Path(__file__).parents[2] / "tests" / "labels" / "knowledge.jsonl"
PEERS = {
    "LanceDB": ("lancedb", "hybrid, n-grams of 2, RRF reranker; embedded"),
    "Qdrant local": ("qdrant", "dense, and sparse with IDF, RRF; in the process"),
    "Chroma": ("chroma", "vectors alone; embedded"),
    "pgvector": ("pgvector", "hybrid_search/rrf.py of pgvector-python, `simple`; HNSW and GIN"),
}
_OWN = "no vocabulary; PostgREST and Postgres as deployed, without the gateway between"


@dataclass(frozen=True)
class SeededModel(CachedModel):
    """Vectors by seed for texts that no question is about: as far from it as other texts are, in no direction."""

    base: NDArray[np.float32]

    def matrix(self, texts: Any, *, queries: bool) -> NDArray[np.float32]:
        seeds = [np.random.default_rng(list(text.encode())) for text in texts]
        noise = [seed.standard_normal(self.base.shape[1]) for seed in seeds]
        picked = [self.base[seed.integers(len(self.base))] for seed in seeds]
        mixed = np.array(
            [0.8 * base + 0.6 * row / np.linalg.norm(row) for base, row in zip(picked, noise, strict=True)]
        )
        return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class AskedQuestions:
    """An `Embedder` that keeps the texts of the questions that it embeds."""

    model: CachedModel
    texts: list[str]

    def query(self, text: str) -> list[float]:
        self.texts.append(text)
        return self.model.query(text)


def sections(run: Run) -> Iterator[Section]:
    """Yields the parts of a call, and a comparison for each number of callers."""
    labels = [json.loads(line) for line in _LABELS.read_text("utf-8").splitlines()]
    # The others have no answer: all that these engines could do is to say so, and only Sakuin does.
    answered = [label for label in labels if label["half"] == "held-out" and label["gold"]]
    gold = {label["query"]: set(label["gold"]) for label in answered}
    queries, folder = list(gold), run.place("search")
    settings = {SAKUIN: _OWN} | {name: said for name, (_, said) in PEERS.items()}
    with ExitStack() as running:
        database = running.enter_context(running_database(folder / "database"))
        where = (postgrest_of(folder / "database"), database.service_key)
        count = write_library(database, folder, queries, run.chunks, where)
        yield _parts(where, folder, queries, count)
        own = running_server(run.python, "benchmarks.comparison.own_server", "library", *where, str(folder))
        ports = {SAKUIN: running.enter_context(own)}
        dsn = other_database(database)
        for name, (argument, _) in PEERS.items():
            server = running_server(PEERS_PYTHON, STORES, argument, str(folder), dsn)
            ports[name] = running.enter_context(server)
        quality = {name: _quality(name, port, gold) for name, port in ports.items()}
        remark = (
            f"{count:,} chunks: the samples, and pages by seed that answer no question. Everyone has the same texts "
            f"and stored vectors of the {len(gold)} held-out questions of tests/labels "
            "that have an answer; one process serves on uvicorn."
        )
        for callers in CALLERS:
            measured = called(
                ports,
                settings,
                lambda name, number: _question(name, queries[number % len(queries)]),
                callers=callers,
                calls=CALLS,
                runs=RUNS,
            )
            if callers == 1:
                measured = [replace(row, more={**row.more, **quality[row.name]}) for row in measured]
            title = f"Searching over MCP, {callers} {'caller' if callers == 1 else 'callers'}"
            yield Section("search", title, remark, "ms, p50", measured)


def write_library(database: Database, folder: Path, queries: list[str], chunks: int, postgrest: tuple[str, str]) -> int:
    """Indexes the samples and generated pages, and writes the same texts with vectors for all; returns their number.

    `postgrest` are the address and the key.
    """
    if not VECTORS.exists():
        VECTORS.parent.mkdir(parents=True, exist_ok=True)
        put_into(VECTORS)
    model = CachedModel.in_file(VECTORS)
    texts = library_in(database, SAMPLES, model, vocabulary="").texts
    base = model.matrix(list(texts.values()), queries=False)
    pages = folder / "pages"
    pages.mkdir()
    for number in range((chunks - len(texts)) // _A_PAGE):
        (pages / f"town-{number}.html").write_text(data.unrelated_page(number), "utf-8")
    seeded = SeededModel(model.name, model.model, model.cache, base)
    others = library_in(database, pages, seeded, vocabulary="").texts
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        sql.execute("vacuum analyze")
    library = {"ids": [*texts, *others], "texts": [*texts.values(), *others.values()]}
    (folder / "library.json").write_text(json.dumps(library), "utf-8")
    vectors = [base, seeded.matrix(list(others.values()), queries=False)] if others else [base]
    np.save(folder / "library.npy", np.concatenate(vectors))
    # Sakuin embeds some questions with the words that it adds to them.
    asked = AskedQuestions(model, list(queries))
    search, _ = library_search(*postgrest, asked)
    for query in queries:
        search(query)
    questions = list(dict.fromkeys(asked.texts))
    (folder / "questions.json").write_text(json.dumps(questions), "utf-8")
    np.save(folder / "questions.npy", model.matrix(questions, queries=True))
    return len(library["ids"])


def other_database(database: Database) -> str:
    """Returns the address of an empty database of the same server."""
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("create database peers")
    return psycopg.conninfo.make_conninfo(database.dsn, dbname="peers")


def _question(name: str, query: str) -> tuple[str, dict[str, Any]]:
    tool = "search_knowledge" if name == SAKUIN else "search_chunks"
    return "tools/call", {"name": tool, "arguments": {"query": query, "top_k": 5}}


def _request(query: str) -> dict[str, Any]:
    """Returns the event of a question as API Gateway sends it."""
    recorded = event("mcp.search")
    method, parameters = _question(SAKUIN, query)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    kept = {name: text for name, text in recorded["headers"].items() if not name.startswith(("mcp-", "content-l"))}
    recorded["headers"] = {**kept, "mcp-protocol-version": REVISION, "authorization": f"Bearer {KEY}"}
    return {**recorded, "body": json.dumps(message, ensure_ascii=False)}


def _quality(name: str, port: int, gold: Mapping[str, set[str]]) -> dict[str, float]:
    caller, places = Caller(port), []
    for query, right in gold.items():
        content = caller.call(*_question(name, query))["structuredContent"]
        found = [hit["id"] for hit in content["results" if name == SAKUIN else "result"]]
        places.append(next((at for at, id in enumerate(found, 1) if id in right), 0))
    return {f"hit@{k}": round(sum(0 < place <= k for place in places) / len(places), 3) for k in (1, 5)}


def _parts(postgrest: tuple[str, str], folder: Path, queries: list[str], count: int) -> Section:
    """Returns what the parts take of a call in this process, without HTTP."""
    search, read = library_search(*postgrest, StoredQuestions.of(folder))
    words, candidates = Timed(search.lexicon), Timed(search.index)
    timed: Any = replace(search, lexicon=words, index=candidates)
    app = application_of(timed, read)
    handler = persistent_handler(app, app.run)
    whole = "whole call"
    parts: dict[str, list[float]] = {whole: [], "Postgres: words": [], "Postgres: candidates": [], SAKUIN: []}
    for number in range(-5, CALLS):
        request = _request(queries[number % len(queries)])
        before, began = (words.seconds, candidates.seconds), time.perf_counter()
        assert handler(request, Context())["statusCode"] == 200
        call = time.perf_counter() - began
        in_words, in_candidates = words.seconds - before[0], candidates.seconds - before[1]
        if number >= 0:
            ours = call - in_words - in_candidates
            for times, part in zip(parts.values(), (call, in_words, in_candidates, ours), strict=True):
                times.append(part * 1000)
    settings = {
        "Postgres: words": "the lexicon, over PostgREST",
        "Postgres: candidates": "the search and its ranking in this process",
        SAKUIN: "key, MCP, analysis of the question, the answer",
    }
    remark = f"In this process, without HTTP and the embedding of the question; {count:,} chunks, {CALLS} calls."
    return Section("parts", "The parts of a search", remark, "ms", rows(parts, settings, beside=whole), whole)
