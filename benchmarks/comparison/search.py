"""Search over MCP: how fast and how right Sakuin is beside stores with a tool."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import psycopg
from sakuin_local.embeddings.cache import VectorCache
from sakuin_local.places import SAMPLES
from sakuin_local.supabase.database import Database, running_database

from benchmarks.comparison.own_server import postgrest_of
from benchmarks.comparison.report import SAKUIN, Section, by_turns, quantiles
from benchmarks.comparison.server import (
    OWN_PYTHON,
    PEERS_PYTHON,
    REPOSITORY,
    Call,
    Caller,
    milliseconds,
    running_server,
)
from benchmarks.general import VECTORS
from tests.general.cached_model import CachedModel
from tests.general.library import library_in

CALLERS = (1, 8)
RUNS = 3
_OTHER_PAGES = REPOSITORY / "tests" / "general"
_LABELS = REPOSITORY / "tests" / "labels" / "knowledge.jsonl"
PEERS = {
    "LanceDB": ("lancedb", "hybrid, n-grams of 2, RRF reranker; embedded"),
    "Qdrant local": ("qdrant", "dense, and sparse with IDF, RRF; in the process"),
    "Chroma": ("chroma", "vectors alone; embedded"),
    "pgvector": ("pgvector", "hybrid_search/rrf.py of pgvector-python, `simple`; HNSW and GIN"),
}
_OWN = "no vocabulary; PostgREST and Postgres as deployed, without the gateway between"


def sections(folder: Path) -> Iterator[Section]:
    """Yields a comparison for each number of callers."""
    labels = [json.loads(line) for line in _LABELS.read_text("utf-8").splitlines()]
    # The others have no answer: all that these engines could do is to say so, and only Sakuin does.
    answered = [label for label in labels if label["half"] == "held-out" and label["gold"]]
    gold = {label["query"]: set(label["gold"]) for label in answered}
    queries = list(gold)
    settings = {SAKUIN: _OWN} | {name: setting for name, (_, setting) in PEERS.items()}
    with ExitStack() as running:
        database = running.enter_context(running_database(folder / "database"))
        address = (str(postgrest_of(folder / "database")), database.service_key)
        count = _write_library(database, folder, queries)
        own = running_server(OWN_PYTHON, "own_server", *address)
        ports = {SAKUIN: running.enter_context(own)}
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            sql.execute("create database peers")
        dsn = psycopg.conninfo.make_conninfo(database.dsn, dbname="peers")
        for name, (argument, _) in PEERS.items():
            store = running_server(PEERS_PYTHON, "peers.stores", argument, str(folder), dsn)
            ports[name] = running.enter_context(store)
        quality = {name: _quality(name, Caller(port), gold) for name, port in ports.items()}
        remark = (
            f"{count:,} chunks: the samples, and short texts in four languages that answer no question. Everyone has "
            f"the same texts and stored vectors of the {len(gold)} held-out questions of tests/labels "
            "that have an answer; one process serves on uvicorn."
        )
        for callers in CALLERS:
            # Each question once a run.
            times, more = measured(
                ports,
                lambda name, number: _call(name, queries[number % len(queries)]),
                callers=callers,
                calls=len(queries),
            )
            title = f"Searching over MCP, {callers} {'caller' if callers == 1 else 'callers'}"
            yield Section(
                title, remark, "ms, p50", times, settings, {name: more[name] | quality[name] for name in more}
            )


def measured(
    ports: Mapping[str, int], call: Callable[[str, int], Call], *, callers: int, calls: int
) -> tuple[dict[str, list[float]], dict[str, dict[str, Any]]]:
    """Returns how long calls of each server take: the median of each run, and quantiles of all runs."""
    taken: dict[str, list[float]] = {name: [] for name in ports}

    def contestant(name: str) -> Callable[[], float]:
        def once() -> float:
            times = milliseconds(ports[name], callers, calls, lambda number: call(name, number))
            taken[name] += times
            return quantiles(times)["p50"]

        return once

    medians = by_turns({name: contestant(name) for name in ports}, RUNS)
    more: dict[str, dict[str, Any]] = {
        name: {**quantiles(times), "calls/s": round(1000 * callers * len(times) / sum(times))}
        for name, times in taken.items()
    }
    return medians, more


def _write_library(database: Database, folder: Path, queries: list[str]) -> int:
    """Indexes the pages, and writes the same texts with vectors for all; returns their number."""
    if not VECTORS.exists():
        VECTORS.parent.mkdir(parents=True, exist_ok=True)
        VectorCache(VECTORS).add_recorded()
    model, texts = CachedModel.in_file(VECTORS), {}
    for pages in (SAMPLES, _OTHER_PAGES):
        texts |= library_in(database, pages, model, vocabulary="").texts
    with psycopg.connect(database.dsn_postgres, autocommit=True) as sql:
        sql.execute("vacuum analyze")
    library = {"ids": list(texts), "texts": list(texts.values())}
    (folder / "library.json").write_text(json.dumps(library), "utf-8")
    np.save(folder / "library.npy", model.matrix(library["texts"], queries=False))
    (folder / "questions.json").write_text(json.dumps(queries), "utf-8")
    np.save(folder / "questions.npy", model.matrix(queries, queries=True))
    return len(texts)


def _call(name: str, query: str) -> Call:
    return "search_knowledge" if name == SAKUIN else "search_chunks", {"query": query, "top_k": 5}


def _quality(name: str, caller: Caller, gold: Mapping[str, set[str]]) -> dict[str, float]:
    """Returns which share of the questions has a right result first, and among the first five."""
    results = [caller.call(*_call(name, query))["results" if name == SAKUIN else "result"] for query in gold]
    right = [[_id_of(hit) in ids for hit in hits] for hits, ids in zip(results, gold.values(), strict=True)]
    return {f"hit@{k}": round(sum(any(hits[:k]) for hits in right) / len(right), 3) for k in (1, 5)}


def _id_of(hit: Mapping[str, Any]) -> str:
    return str(hit["id"]) if "id" in hit else unquote(hit["url"]).removeprefix("/").replace(".html#", "#")
