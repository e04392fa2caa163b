"""LangChain's indexing API and LlamaIndex's IngestionPipeline, with stores in memory; their vectors are counted."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from bs4 import BeautifulSoup
from langchain_core.documents import Document as Text
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from benchmarks.comparison.worker import serve

SIZE, OVERLAP, DIMENSIONS = 1000, 150, 1536
# Indexes texts by name; returns how many rows it wrote and deleted.
Put = Callable[[dict[str, str]], int]
counts: Counter[str] = Counter()


def _vectors(texts: Sequence[str]) -> list[list[float]]:
    counts["embedding calls"] += 1
    counts["texts embedded"] += len(texts)
    seeds = (np.random.default_rng(zlib.crc32(text.encode())) for text in texts)
    return [seed.standard_normal(DIMENSIONS).tolist() for seed in seeds]


class LangChainVectors(DeterministicFakeEmbedding):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return _vectors(texts)


class LlamaIndexVectors(MockEmbedding):
    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _vectors(texts)


def _langchain() -> Put:
    records, store = InMemoryRecordManager("bench"), InMemoryVectorStore(LangChainVectors(size=DIMENSIONS))
    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)

    def put(texts: dict[str, str]) -> int:
        documents = [Text(page_content=text, metadata={"source": name}) for name, text in texts.items()]
        pieces = splitter.split_documents(documents)
        keys = {"source_id_key": "source", "key_encoder": "sha256"}
        done = index(pieces, records, store, cleanup="scoped_full", **keys)
        return int(done["num_added"] + done["num_updated"] + done["num_deleted"])

    return put


def _llama() -> Put:
    store = SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[
            SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=list),
            # A hundred at once, as its embeddings of OpenAI.
            LlamaIndexVectors(embed_dim=DIMENSIONS, embed_batch_size=100),
        ],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS,
        vector_store=store,
    )

    def put(texts: dict[str, str]) -> int:
        before = set(store.data.embedding_dict)
        pipeline.run(documents=[Document(text=text, doc_id=name) for name, text in texts.items()])
        return len(before ^ set(store.data.embedding_dict))

    return put


PEERS: dict[str, tuple[str, Callable[[], Put]]] = {
    "LangChain index()": ("scoped_full cleanup, sha256; record manager and store in memory", _langchain),
    "LlamaIndex IngestionPipeline": ("upserts with a docstore, its cache on; all in memory", _llama),
}
_puts: dict[tuple[str, str], Put] = {}


def names() -> dict[str, str]:
    """Returns the settings of each."""
    return {name: settings for name, (settings, _) in PEERS.items()}


def put(name: str, collection: str, file: str) -> dict[str, int]:
    """Indexes the pages or strings of a file, by name, into a collection that stays; returns what was counted."""
    texts = json.loads(Path(file).read_text("utf-8"))
    if collection == "pages":
        texts = {key: BeautifulSoup(html, "lxml").get_text("\n", strip=True) for key, html in texts.items()}
    counts.clear()
    if (name, collection) not in _puts:
        _puts[name, collection] = PEERS[name][1]()
    rows = _puts[name, collection](texts)
    return {**counts, "rows written": rows}


if __name__ == "__main__":
    serve({"names": names, "put": put})
