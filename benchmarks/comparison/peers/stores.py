"""Search over MCP as people build it on a store: a tool on the SDK's server, with the same texts and vectors for all.

`python -m benchmarks.comparison.peers.stores NAME FOLDER DSN`. `search` writes FOLDER.
"""

import json
import re
import sys
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import numpy as np
from mcp.server import MCPServer

from benchmarks.comparison.server import serve

DEPTH = 20
# A question and its vector to the ids of the best, with their texts.
Search = Callable[[str, np.ndarray, int], list[tuple[str, str]]]


def lancedb(ids: list[str], texts: list[str], vectors: np.ndarray, folder: Path, _dsn: str) -> Search:
    """Its guide to hybrid search: FTS and vectors, fused by RRF; for languages without spaces, n-grams."""
    import lancedb as lance
    from lancedb.index import FTS
    from lancedb.rerankers import RRFReranker

    rows = [{"id": id, "text": text, "vector": row.tolist()} for id, text, row in zip(ids, texts, vectors, strict=True)]
    table = lance.connect(folder / "lancedb").create_table("chunks", rows, mode="overwrite")
    ngrams = FTS(base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=2, stem=False, remove_stop_words=False)
    table.create_index("text", config=ngrams)
    reranker = RRFReranker()

    def search(query: str, vector: np.ndarray, limit: int) -> list[tuple[str, str]]:
        asked = table.search(query_type="hybrid").distance_type("cosine").vector(vector).text(query)
        return [(row["id"], row["text"]) for row in asked.rerank(reranker).limit(limit).to_list()]

    return search


def qdrant(ids: list[str], texts: list[str], vectors: np.ndarray, _folder: Path, _dsn: str) -> Search:
    """Its guide to hybrid queries: dense and sparse vectors with IDF, fused by RRF; in the process."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection(
        "chunks",
        vectors_config={"dense": models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)},
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    points = [
        models.PointStruct(id=at, vector={"dense": row.tolist(), "words": _sparse(text)}, payload={"at": at})
        for at, (text, row) in enumerate(zip(texts, vectors, strict=True))
    ]
    client.upload_points("chunks", points)
    # The client in the process is made for one thread.
    lock = threading.Lock()

    def search(query: str, vector: np.ndarray, limit: int) -> list[tuple[str, str]]:
        legs = [
            models.Prefetch(query=_sparse(query), using="words", limit=DEPTH),
            models.Prefetch(query=vector.tolist(), using="dense", limit=DEPTH),
        ]
        with lock:
            found = client.query_points(
                "chunks", prefetch=legs, query=models.FusionQuery(fusion=models.Fusion.RRF), limit=limit
            )
        return [(ids[point.id], texts[point.id]) for point in found.points]

    return search


def chroma(ids: list[str], texts: list[str], vectors: np.ndarray, folder: Path, _dsn: str) -> Search:
    """Its guide: a persistent collection, asked by vectors; it has no hybrid search in the process."""
    import chromadb

    client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "chunks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.add(ids=ids, documents=texts, embeddings=vectors)

    def search(_query: str, vector: np.ndarray, limit: int) -> list[tuple[str, str]]:
        found = collection.query(query_embeddings=vector[None], n_results=limit, include=["documents"])
        return list(zip(found["ids"][0], found["documents"][0], strict=True))

    return search


def pgvector(ids: list[str], texts: list[str], vectors: np.ndarray, _folder: Path, dsn: str) -> Search:
    """The example hybrid_search/rrf.py of pgvector-python, with its indexes and the text search `simple`."""
    import psycopg
    from pgvector.psycopg import register_vector

    with psycopg.connect(dsn, autocommit=True) as sql:
        sql.execute("create extension vector")
        register_vector(sql)
        sql.execute(f"create table documents (id text primary key, content text, embedding vector({vectors.shape[1]}))")
        with sql.cursor() as cursor:
            cursor.executemany("insert into documents values (%s, %s, %s)", list(zip(ids, texts, vectors, strict=True)))
        sql.execute("create index on documents using gin (to_tsvector('simple', content))")
        sql.execute("create index on documents using hnsw (embedding vector_cosine_ops)")
        sql.execute("analyze documents")
    local = threading.local()

    def search(query: str, vector: np.ndarray, limit: int) -> list[tuple[str, str]]:
        if not hasattr(local, "sql"):
            local.sql = psycopg.connect(dsn, autocommit=True)
            register_vector(local.sql)
        given = {"query": query, "embedding": vector, "k": 60, "limit": limit}
        return list(local.sql.execute(_RRF, given).fetchall())

    return search


_RRF = """
with semantic_search as (
    select id, rank() over (order by embedding <=> %(embedding)s) as rank
    from documents order by embedding <=> %(embedding)s limit 20
), keyword_search as (
    select id, rank() over (order by ts_rank_cd(to_tsvector('simple', content), query) desc)
    from documents, plainto_tsquery('simple', %(query)s) query
    where to_tsvector('simple', content) @@ query order by rank limit 20
)
select id, content from documents
    left join semantic_search s using (id) left join keyword_search k using (id) where s.rank > 0 or k.rank > 0
order by coalesce(1.0 / (%(k)s + s.rank), 0.0) + coalesce(1.0 / (%(k)s + k.rank), 0.0) desc limit %(limit)s
"""
STORES = {"lancedb": lancedb, "qdrant": qdrant, "chroma": chroma, "pgvector": pgvector}


def _sparse(text: str) -> Any:
    """The pairs of characters of a text, as the sparse vector of its counts, damped as BM25 does."""
    from qdrant_client import models

    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower())
    counts = Counter(zlib.crc32(word[at : at + 2].encode()) for word in words for at in range(max(1, len(word) - 1)))
    return models.SparseVector(indices=list(counts), values=[count * 2.2 / (count + 1.2) for count in counts.values()])


def main(name: str, folder: str, dsn: str) -> None:
    """Fills the store and serves until the process ends."""
    place = Path(folder)
    library = json.loads((place / "library.json").read_text("utf-8"))
    search = STORES[name](library["ids"], library["texts"], np.load(place / "library.npy"), place, dsn)
    queries = json.loads((place / "questions.json").read_text("utf-8"))
    vectors = dict(zip(queries, np.load(place / "questions.npy"), strict=True))
    server = MCPServer("Search")

    @server.tool()
    async def search_chunks(query: str, top_k: int = 5) -> list[dict[str, str]]:
        """Search the chunks."""
        found = await anyio.to_thread.run_sync(search, query, vectors[query], top_k)
        return [{"id": id, "text": text} for id, text in found]

    serve(server.streamable_http_app(stateless_http=True, json_response=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
