"""Sakuin's own part in reading, cutting and analyzing, as a process of `worker`; an older release runs it, too."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.vocabulary import vocabulary_of
from sakuin.tables.chunking import chunks
from sudachipy import Dictionary, SplitMode, Tokenizer

from benchmarks.comparison.worker import serve


@cache
def _texts(file: str) -> list[str]:
    texts: list[str] = json.loads(Path(file).read_text("utf-8"))
    return texts


@cache
def _pages(file: str) -> list[bytes]:
    return [text.encode() for text in _texts(file)]


def read(file: str) -> dict[str, int]:
    """Reads pages; returns how many chunks, characters, and chunks with an anchor."""
    found = [item for page in _pages(file) for item in read_page(page).explanations]
    return {
        "chunks": len(found),
        "characters": sum(len(item.content) for item in found),
        "with an anchor": sum(bool(item.anchor) for item in found),
    }


def cut(file: str) -> int:
    """Cuts strings; returns the number of chunks."""
    return sum(len(chunks(text)) for text in _texts(file))


def cuts(file: str) -> list[list[tuple[str, int, int]]]:
    """Returns the chunks of each string with their places."""
    return [[(each.text, each.char_start, each.char_end) for each in chunks(text)] for text in _texts(file)]


def analyze(file: str) -> int:
    """Analyzes questions; returns how many."""
    return len([analyze_query(text, LexiconEntries(), vocabulary_of("")) for text in _texts(file)])


@cache
def _tokenizer() -> Tokenizer:
    return Dictionary(dict="small").tokenizer(mode=SplitMode.A)


def tokenize(file: str) -> int:
    """Gives the same questions to Sudachi alone; returns how many."""
    return len([list(_tokenizer().tokenize(text)) for text in _texts(file)])


WORKS: dict[str, Any] = {"read": read, "cut": cut, "cuts": cuts, "analyze": analyze, "tokenize": tokenize}

if __name__ == "__main__":
    serve(WORKS)
