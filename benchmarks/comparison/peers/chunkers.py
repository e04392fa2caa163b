"""Splitters of pages and of strings, at the settings that their documents recommend."""

import json
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import chonkie
from bs4 import BeautifulSoup
from langchain_text_splitters import (
    HTMLHeaderTextSplitter,
    HTMLSectionSplitter,
    HTMLSemanticPreservingSplitter,
    RecursiveCharacterTextSplitter,
)
from llama_index.core.node_parser import HTMLNodeParser, SentenceSplitter
from llama_index.core.schema import Document
from selectolax.lexbor import LexborHTMLParser
from semantic_text_splitter import TextSplitter

from benchmarks.comparison.worker import serve

warnings.simplefilter("ignore")
# As Sakuin cuts Tables, in characters.
SIZE, OVERLAP = 1000, 150
_HEADINGS = [("h1", "Header 1"), ("h2", "Header 2"), ("h3", "Header 3")]
# LangChain's "Splitting text from languages without word boundaries".
_SEPARATORS = ["\n\n", "\n", " ", ".", ",", "\u200b", "\uff0c", "\u3001", "\uff0e", "\u3002", ""]
_MARKS = ["\n\n", "\n", ". ", "! ", "? "]
Cuts = list[tuple[str, int | None, int | None]]


def _windows(text: str) -> list[str]:
    return [text[start : start + SIZE] for start in range(0, len(text), SIZE)]


def _lexbor(html: str) -> list[str]:
    body = LexborHTMLParser(html).body
    return _windows(re.sub(r"\n\s*\n+", "\n", body.text(separator="\n"))) if body else []


def _llama_pages(html: str) -> list[str]:
    return [node.text for node in HTMLNodeParser().get_nodes_from_documents([Document(text=html)])]


def _documents(splitter: Any) -> Callable[[str], list[str]]:
    return lambda html: [document.page_content for document in splitter.split_text(html)]


PAGES: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "LangChain HTMLHeaderTextSplitter": ("h1 to h3, as its guide", _documents(HTMLHeaderTextSplitter(_HEADINGS))),
    "LangChain HTMLSectionSplitter": ("h1 to h3, as its guide", _documents(HTMLSectionSplitter(_HEADINGS))),
    "LangChain HTMLSemanticPreservingSplitter": (
        "guide: h1 to h3, 1,000 characters, tables, lists and code whole",
        _documents(
            HTMLSemanticPreservingSplitter(
                _HEADINGS, max_chunk_size=SIZE, separators=_MARKS, elements_to_preserve=["table", "ul", "ol", "code"]
            )
        ),
    ),
    "LlamaIndex HTMLNodeParser": ("its default tags", _llama_pages),
    "bs4 alone": (
        "lxml; the text in windows of 1,000 characters",
        lambda html: _windows(BeautifulSoup(html, "lxml").get_text("\n", strip=True)),
    ),
    "selectolax alone": ("Lexbor; the text in windows of 1,000 characters", _lexbor),
}


@cache
def _recursive() -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=OVERLAP, separators=_SEPARATORS, add_start_index=True
    )


def _langchain(text: str) -> Cuts:
    pieces = _recursive().create_documents([text])
    starts = [(piece.page_content, piece.metadata["start_index"]) for piece in pieces]
    return [(piece, start, start + len(piece)) for piece, start in starts]


def _semantic(text: str) -> Cuts:
    pieces = TextSplitter(SIZE, overlap=OVERLAP).chunk_indices(text)
    return [(piece, start, start + len(piece)) for start, piece in pieces]


def _chonkie(chunker: Any) -> Callable[[str], Cuts]:
    return lambda text: [(piece.text, piece.start_index, piece.end_index) for piece in chunker.chunk(text)]


@cache
def _sentences(characters: bool) -> SentenceSplitter:
    if characters:
        return SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=list)
    return SentenceSplitter(chunk_size=1024, chunk_overlap=20)


def _llama(characters: bool) -> Callable[[str], Cuts]:
    def pieces(text: str) -> Cuts:
        nodes: Sequence[Any] = _sentences(characters).get_nodes_from_documents([Document(text=text)])
        return [(node.text, node.start_char_idx, node.end_char_idx) for node in nodes]

    return pieces


STRINGS: dict[str, tuple[str, Callable[[str], Cuts]]] = {
    "LangChain RecursiveCharacterTextSplitter": (
        "1,000 characters, 150 shared; its separators for languages without spaces",
        _langchain,
    ),
    "semantic-text-splitter": ("1,000 characters, 150 shared", _semantic),
    "chonkie RecursiveChunker": (
        "1,000 characters; it shares none",
        _chonkie(chonkie.RecursiveChunker(tokenizer="character", chunk_size=SIZE)),
    ),
    "chonkie SentenceChunker": (
        "1,000 characters, 150 shared, ends of sentences with 。",
        _chonkie(
            chonkie.SentenceChunker(
                tokenizer="character",
                chunk_size=SIZE,
                chunk_overlap=OVERLAP,
                delim=[". ", "! ", "? ", "\n", "。", "！", "？"],
            )
        ),
    ),
    "LlamaIndex SentenceSplitter": ("1,024 tokens, 20 shared, as its guide", _llama(False)),
    "LlamaIndex SentenceSplitter, characters": ("1,000 characters, 150 shared", _llama(True)),
}


@cache
def _texts(file: str) -> list[str]:
    texts: list[str] = json.loads(Path(file).read_text("utf-8"))
    return texts


def names() -> dict[str, dict[str, str]]:
    """Returns the settings of each splitter."""
    return {
        "pages": {name: settings for name, (settings, _) in PAGES.items()},
        "strings": {name: settings for name, (settings, _) in STRINGS.items()},
    }


def read(name: str, file: str) -> dict[str, int]:
    """Splits pages; returns how many chunks and characters."""
    split = PAGES[name][1]
    found = [piece for text in _texts(file) for piece in split(text)]
    return {"chunks": len(found), "characters": sum(map(len, found)), "with an anchor": 0}


def cut(name: str, file: str) -> int:
    """Splits strings; returns the number of chunks."""
    split = STRINGS[name][1]
    return sum(len(split(text)) for text in _texts(file))


def cuts(name: str, file: str) -> list[Cuts]:
    """Returns the chunks of each string with their places."""
    return [STRINGS[name][1](text) for text in _texts(file)]


if __name__ == "__main__":
    serve({"names": names, "read": read, "cut": cut, "cuts": cuts})
