"""LangChain's indexing API and LlamaIndex's IngestionPipeline, with stores in memory that count."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bs4 import BeautifulSoup
from langchain_core.documents import Document as Text
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from benchmarks.comparison.worker import serve

SIZE, OVERLAP, DIMENSIONS = 1000, 150, 1536
counts: Counter[str] = Counter()


def _vectors(texts: Sequence[str]) -> list[list[float]]:
    counts["embedding calls"] += 1
    counts["texts embedded"] += len(texts)
    seeds = (np.random.default_rng(zlib.crc32(text.encode())) for text in texts)
    return [seed.standard_normal(DIMENSIONS).tolist() for seed in seeds]


class HashedEmbeddings(Embeddings):
    """Vectors out of a text's hash, for LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return _vectors(texts)

    def embed_query(self, text: str) -> list[float]:
        return _vectors([text])[0]


class HashedEmbedding(BaseEmbedding):
    """Vectors out of a text's hash, for LlamaIndex, a hundred at once as its embeddings of OpenAI."""

    embed_batch_size: int = 100

    def _get_text_embedding(self, text: str) -> list[float]:
        return _vectors([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _vectors(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return _vectors([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return _vectors([query])[0]


class CountedStore(InMemoryVectorStore):
    """LangChain's store, with the number of rows that are written."""

    def add_documents(self, documents: list[Text], ids: list[str] | None = None, **named: Any) -> list[str]:
        counts["rows written"] += len(documents)
        return super().add_documents(documents, ids, **named)

    def delete(self, ids: Sequence[str] | None = None, **named: Any) -> None:
        counts["rows written"] += len(ids or ())
        super().delete(ids, **named)


class CountedVectors(SimpleVectorStore):
    """LlamaIndex's store, with the number of rows that are written."""

    def add(self, nodes: Sequence[Any], **named: Any) -> list[str]:
        counts["rows written"] += len(nodes)
        return super().add(nodes, **named)

    def delete(self, ref_doc_id: str, **named: Any) -> None:
        before = len(self.data.text_id_to_ref_doc_id)
        super().delete(ref_doc_id, **named)
        counts["rows written"] += before - len(self.data.text_id_to_ref_doc_id)


def _langchain() -> Callable[[dict[str, str]], None]:
    records, store = InMemoryRecordManager("bench"), CountedStore(HashedEmbeddings())
    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)

    def put(texts: dict[str, str]) -> None:
        documents = [Text(page_content=text, metadata={"source": name}) for name, text in texts.items()]
        index(
            splitter.split_documents(documents),
            records,
            store,
            cleanup="scoped_full",
            source_id_key="source",
            key_encoder="sha256",
        )

    return put


def _llama() -> Callable[[dict[str, str]], None]:
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=list), HashedEmbedding()],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS,
        vector_store=CountedVectors(),
    )

    def put(texts: dict[str, str]) -> None:
        pipeline.run(documents=[Document(text=text, doc_id=name) for name, text in texts.items()])

    return put


SETTINGS = {
    "LangChain index()": "scoped_full cleanup, sha256; record manager and store in memory",
    "LlamaIndex IngestionPipeline": "upserts with a docstore, its cache on; all in memory",
}
_MAKERS = {"LangChain index()": _langchain, "LlamaIndex IngestionPipeline": _llama}
_puts: dict[tuple[str, str], Callable[[dict[str, str]], None]] = {}


def names() -> dict[str, str]:
    """Returns the settings of each."""
    return SETTINGS


def put(name: str, collection: str, file: str) -> dict[str, int]:
    """Indexes the pages or strings of a file, by name, into a collection that stays; returns what was counted."""
    texts = json.loads(Path(file).read_text("utf-8"))
    if collection == "pages":
        texts = {key: BeautifulSoup(html, "lxml").get_text("\n", strip=True) for key, html in texts.items()}
    counts.clear()
    if (name, collection) not in _puts:
        _puts[name, collection] = _MAKERS[name]()
    _puts[name, collection](texts)
    return dict(counts)


if __name__ == "__main__":
    serve({"names": names, "put": put})
