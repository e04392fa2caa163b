"""Splitters and an index of libraries, at the settings that their documents recommend, as tools.

The index keeps everything in memory; its vectors are hashes, and are counted.
"""

import json
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bs4 import BeautifulSoup
from langchain_core.documents import Document as Text
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import HTMLHeaderTextSplitter
from langchain_text_splitters import RecursiveCharacterTextSplitter as Recursive
from mcp.server import MCPServer
from semantic_text_splitter import TextSplitter

from benchmarks.comparison.server import serve

warnings.simplefilter("ignore")
# As Sakuin cuts Tables, in characters.
SIZE, OVERLAP, DIMENSIONS = 1000, 150, 1536
_HEADINGS = HTMLHeaderTextSplitter([("h1", "Header 1"), ("h2", "Header 2"), ("h3", "Header 3")])
# LangChain's "Splitting text from languages without word boundaries".
_SEPARATORS = ["\n\n", "\n", " ", ".", ",", "\u200b", "\uff0c", "\u3001", "\uff0e", "\u3002", ""]
# Pieces with their places, or without where the splitter does not say them.
Cuts = list[tuple[str, int | None, int | None]]
# Indexes texts by key; returns how many rows it wrote and deleted.
Put = Callable[[dict[str, str]], int]
server = MCPServer("Frameworks")
counts: Counter[str] = Counter()


def _windows(html: str) -> list[str]:
    text = _text_of(html)
    return [text[start : start + SIZE] for start in range(0, len(text), SIZE)]


def _text_of(html: str) -> str:
    return BeautifulSoup(html, "lxml").get_text("\n", strip=True)


def _by_headings(html: str) -> list[str]:
    return [document.page_content for document in _HEADINGS.split_text(html)]


def _langchain(text: str) -> Cuts:
    splitter = Recursive(chunk_size=SIZE, chunk_overlap=OVERLAP, separators=_SEPARATORS, add_start_index=True)
    pieces = [(piece.page_content, piece.metadata["start_index"]) for piece in splitter.create_documents([text])]
    return [(piece, start, start + len(piece)) for piece, start in pieces]


def _semantic(text: str) -> Cuts:
    pieces = TextSplitter(SIZE, overlap=OVERLAP).chunk_indices(text)
    return [(piece, start, start + len(piece)) for start, piece in pieces]


def _vectors(texts: Sequence[str]) -> list[list[float]]:
    counts.update(calls=1, texts=len(texts))
    seeds = (np.random.default_rng(zlib.crc32(text.encode())) for text in texts)
    return [seed.standard_normal(DIMENSIONS).tolist() for seed in seeds]


class LangChainVectors(DeterministicFakeEmbedding):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return _vectors(texts)


@cache
def _langchain_index() -> Put:
    records, store = InMemoryRecordManager("bench"), InMemoryVectorStore(LangChainVectors(size=DIMENSIONS))
    splitter = Recursive(chunk_size=SIZE, chunk_overlap=OVERLAP)

    def put(texts: dict[str, str]) -> int:
        documents = [Text(page_content=text, metadata={"source": name}) for name, text in texts.items()]
        keys = {"source_id_key": "source", "key_encoder": "sha256"}
        done = index(splitter.split_documents(documents), records, store, cleanup="scoped_full", **keys)
        return int(done["num_added"] + done["num_updated"] + done["num_deleted"])

    return put


PEERS: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "pages": {
        "LangChain HTMLHeaderTextSplitter": ("h1 to h3, as its guide", _by_headings),
        "bs4 alone": ("lxml; the text in windows of 1,000 characters", _windows),
    },
    "strings": {
        "LangChain RecursiveCharacterTextSplitter": ("1,000 characters, 150 shared; without spaces, too", _langchain),
        "semantic-text-splitter": ("1,000 characters, 150 shared", _semantic),
    },
    "indexes": {"LangChain index()": ("scoped_full cleanup, sha256; all in memory", _langchain_index)},
}


@server.tool()
def settings(kind: str) -> dict[str, str]:
    """Say the settings of each"""
    return {name: setting for name, (setting, _) in PEERS[kind].items()}


@server.tool()
def split(kind: str, name: str, file: str) -> dict[str, int | float]:
    """Split the texts of a file"""
    splitter, texts = PEERS[kind][name][1], json.loads(Path(file).read_text("utf-8"))
    began = time.process_time()
    pieces = [piece if isinstance(piece, str) else piece[0] for text in texts for piece in splitter(text)]
    used = time.process_time() - began
    return {"milliseconds": used * 1000, "chunks": len(pieces), "characters": sum(map(len, pieces))}


@server.tool()
def cuts(name: str, file: str) -> list[Cuts]:
    """Return the pieces of each string with their places"""
    return [PEERS["strings"][name][1](text) for text in json.loads(Path(file).read_text("utf-8"))]


@server.tool()
def put(name: str, file: str) -> dict[str, int]:
    """Index the pages of a file, by key; return what was counted"""
    texts = {key: _text_of(html) for key, html in json.loads(Path(file).read_text("utf-8")).items()}
    counts.clear()
    rows = PEERS["indexes"][name][1]()(texts)
    return {"embedding calls": counts["calls"], "texts embedded": counts["texts"], "rows written": rows}


if __name__ == "__main__":
    serve(server.streamable_http_app(stateless_http=True, json_response=True))
