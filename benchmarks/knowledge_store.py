"""Pages searched in Postgres and in turbopuffer's stand-in: the same answers, and what indexing and searching costs.

`python -m benchmarks.knowledge_store [N …]`. The samples are asked their labelled questions in both stores. Then N
explanations with fixed vectors, in pages of twenty, are indexed by the product and asked for in both; a page is pushed
again, unchanged and with one changed explanation. The stand-in commits at once: milliseconds are its own, trust counts.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sakuin.knowledge.index_page import IndexPage
from sakuin.knowledge.learns.sources import LearnsSources
from sakuin.knowledge.model import EVERYTHING, KnowledgeChunk, PageChange, Source, padded
from sakuin.knowledge.postgres import KnowledgeIndex, LearnsRecords
from sakuin.knowledge.postgres_search import KnowledgeSearch, Lexicon, PostgresChunks, Question
from sakuin.knowledge.search import SearchKnowledge
from sakuin.knowledge.turbopuffer import StoredPages, TurbopufferChunks
from sakuin.language.model import IndexedWords, Slot, WeightedTerm
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel
from sakuin.platform.supabase.client import connected
from sakuin.platform.turbopuffer.client import connected as store_connected
from sakuin.platform.turbopuffer.rows import TurbopufferRows
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_local.embeddings.model import NAME
from sakuin_local.supabase.database import running_database
from turbopuffer import DefaultHttpxClient

from benchmarks.large_index import A_PAGE
from tests.builders import a_chunk
from tests.doubles.bucket import MemoryBucket
from tests.general.cached_model import CachedModel
from tests.recorded_vectors import put_into
from tests.worlds import turbopuffer_in

ROOT = Path(__file__).resolve().parent.parent
IN_POSTGRES = PageIndexVersion(EmbeddingModel(NAME, DIMENSIONS), TEXT_TEMPLATE, ANALYZER)
VERSIONS = (IN_POSTGRES, replace(IN_POSTGRES, store="turbopuffer"))
QUESTIONS = 50
# Of a vector; the stand-in stores no zeros.
NUMBERS = 64
TERMS = 300


class Counts(Counter[str]):
    """Requests and bytes by service."""

    def hooks(self, service: str) -> dict[str, list[Callable[[Any], None]]]:
        def sent(request: Any) -> None:
            self[f"{service} calls"] += 1
            self[f"{service} bytes sent"] += len(request.read())

        return {"request": [sent], "response": []}


class Stores:
    """The index, and the search in each store, over an empty database and an empty stand-in."""

    def __init__(self, database: Any, address: str) -> None:
        self.counts = Counts()
        self.client = connected(database.rest_url, database.service_key)
        self.client.session.event_hooks = self.counts.hooks("Postgres")
        session = DefaultHttpxClient(event_hooks=self.counts.hooks("turbopuffer"))
        rows = TurbopufferRows(store_connected(address, "any", session))
        pages = StoredPages(self.client, rows, "samples")
        self.index = KnowledgeIndex(self.client, stored_pages=lambda: pages)
        self.sweep = pages.sweep
        chunks, weights = PostgresChunks(self.client), weights_of(NAME)
        self.searches = [
            KnowledgeSearch(chunks, weights),
            KnowledgeSearch(TurbopufferChunks(chunks, rows, "samples"), weights),
        ]

    @contextmanager
    def counted(self, name: str, of: int = 1) -> Any:
        """Prints what a block costs, for each of so many."""
        self.counts.clear()
        began = time.perf_counter()
        yield
        each = {kind: f"{n / of:,.1f}" for kind, n in sorted(self.counts.items())}
        print(f"{name}: {(time.perf_counter() - began) / of * 1000:,.1f} ms", each, flush=True)


def samples(stores: Stores, model: CachedModel) -> None:
    """Asks the labelled questions of the samples in both stores, and prints where they differ."""
    bucket = MemoryBucket()
    for file in filter(Path.is_file, (ROOT / "samples").rglob("*.*")):
        bucket.write(file.relative_to(ROOT / "samples").as_posix(), file.read_bytes())
    learns = LearnsSources(bucket, LearnsRecords(stores.client), None, "")
    for round, version in enumerate(VERSIONS):
        pages = IndexPage(bucket, stores.index, lambda _model: model, learns, version, 10_000_000)
        for number, key in enumerate(key for key in bucket.keys("") if key.endswith(".html")):
            source = Source("samples", key, f"{bucket.current_version(key)}", padded(f"{round}{number:06X}"))
            pages.index_version(key.removesuffix(".html"), key, source.version_id, source)
    lexicon = Lexicon(stores.client)
    asked = [
        json.loads(line)
        for name in ("knowledge", "paraphrases", "near_misses")
        for line in (ROOT / f"tests/labels/{name}.jsonl").read_text().splitlines()
    ]
    queries = [one["query"] for one in asked if one.get("site", "samples") == "samples"]
    gold = [set(one.get("gold", ())) for one in asked if one.get("site", "samples") == "samples"]
    answers: list[list[tuple[list[str], bool]]] = []
    for search, version in zip(stores.searches, VERSIONS, strict=True):
        ask = SearchKnowledge(search, lexicon, model, version, "")
        with stores.counted(f"a question to the samples in {version.store}", len(queries)):
            answers.append([([hit.id for hit in a.results], a.no_good_match) for a in map(ask, queries)])
    one, other = answers
    hits = [sum(bool(g & set(ids[:1])) for (ids, _), g in zip(each, gold, strict=True)) for each in answers]
    print(f"{len(queries)} questions, right first: {hits}; other first results:", end=" ")
    print(sum(a[:1] != b[:1] for (a, _), (b, _) in zip(one, other, strict=True)), end="; other lists: ")
    print(sum(a != b for (a, _), (b, _) in zip(one, other, strict=True)), end="; other no_good_match: ")
    print(sum(a != b for (_, a), (_, b) in zip(one, other, strict=True)))


def indexed(stores: Stores, count: int) -> None:
    """Indexes `count` explanations and asks for some, in both stores."""
    rng = np.random.default_rng(7)
    words, drawn = [f"語{number:x}" for number in range(20_000)], []
    chances = 1 / (np.arange(len(words)) + 8)
    chances /= chances.sum()
    stores.counts.clear()
    began, cost = time.perf_counter(), Counter[str]()
    pages: list[tuple[list[KnowledgeChunk], dict[str, Any]]] = []
    for page in range(count // A_PAGE):
        topic, chunks, vectors = rng.normal(size=NUMBERS), [], {}
        for place in range(A_PAGE):
            terms = rng.choice(len(words), TERMS, replace=False, p=chances)
            impacts = {
                words[term]: float(impact) for term, impact in zip(terms, rng.uniform(0.3, 0.9, TERMS), strict=True)
            }
            chunk = a_chunk(
                f"p{page}",
                f"rule-{place}",
                f"文 {page} {place}",
                position=place,
                words=IndexedWords(impacts, frozenset()),
            )
            chunks.append(chunk)
            vectors[chunk.text_hashes[0]] = wide(topic + rng.normal(size=NUMBERS))
        pages.append((chunks, vectors))
        if page % max(1, count // A_PAGE // QUESTIONS) == 0:
            drawn.append((vectors[chunks[3].text_hashes[0]], list(chunks[3].words.impacts)[:12]))
        for round, version in enumerate(VERSIONS):
            if page == 0:
                stores.index.record_index_version(version)
            stores.counts.clear()
            stores.index.store_vectors(vectors, version)
            assert applied(stores, chunks, version, round) == "applied"
            cost.update({f"{version.store}: {kind}": n for kind, n in stores.counts.items()})
    number = count // A_PAGE
    print(
        f"{count:,} explanations: {(time.perf_counter() - began) / number * 1000:,.0f} ms a page for both", flush=True
    )
    print({kind: f"{n / number:,.1f}" for kind, n in sorted(cost.items())}, "for each page of", A_PAGE)
    chunks, _ = pages[0]
    for name, changed in (
        ("one changed explanation", [*chunks[:-1], replace(chunks[-1], title="neu", words=chunks[0].words)]),
    ):
        with stores.counted(name):
            assert applied(stores, changed, VERSIONS[1], 2) == "applied"
    asked = [Question(vector, slots(terms), VERSIONS[0], EVERYTHING, 10) for vector, terms in drawn]
    found: list[list[list[str]]] = []
    for search, version in zip(stores.searches, VERSIONS, strict=True):
        times: list[float] = []
        found.append([])
        with stores.counted(f"a question in {version.store}", len(asked)):
            for question in asked:
                began = time.perf_counter()
                found[-1].append([one.id for one in search.answer(replace(question, version=version)).matches])
                times.append(time.perf_counter() - began)
        print(f"p50 {median(times) * 1000:.1f} ms, p95 {sorted(times)[int(len(times) * 0.95)] * 1000:.1f} ms")
    same = [len(set(a) & set(b)) / max(1, len(a)) for a, b in zip(*found, strict=True)]
    first = sum(a[:1] == b[:1] for a, b in zip(*found, strict=True))
    print(
        f"{len(asked)} questions: {first} with the same first result, {np.mean(same):.3f} of ten the same", flush=True
    )


def applied(stores: Stores, chunks: Sequence[KnowledgeChunk], version: PageIndexVersion, round: int) -> str:
    material = chunks[0].material
    source = Source("b", f"{material}.html", f"v{round}", padded(f"{round + 1}"))
    state = stores.index.state(material) if round == 2 else None
    change = PageChange(material, source, chunks, version.id)
    return stores.index.apply(change, expected_generation=state.generation if state else None).outcome


def slots(terms: Sequence[str]) -> tuple[Slot, ...]:
    return tuple(Slot("word", (WeightedTerm(term, 1.0),)) for term in terms)


def wide(numbers: Any) -> list[float]:
    vector = np.zeros(DIMENSIONS)
    vector[:NUMBERS] = numbers / np.linalg.norm(numbers)
    return [float(number) for number in vector]


def main(sizes: Sequence[int]) -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder, "vectors.db")
        put_into(vectors)
        model = CachedModel.in_file(vectors)
        for size in (0, *sizes):
            place = Path(folder, str(size))
            place.mkdir()
            with running_database(place / "data") as database, turbopuffer_in(place) as address:
                stores = Stores(database, address)
                if size:
                    indexed(stores, size)
                else:
                    samples(stores, model)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000])
