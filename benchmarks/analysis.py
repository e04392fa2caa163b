"""How long the analyzer takes, beside plain Sudachi over the same text in the same run; also reading and cutting."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.indexing import index_words
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.vocabulary import vocabulary_of
from sakuin.tables.chunking import chunks as cut_chunks
from sudachipy import Dictionary, SplitMode, Tokenizer

ROUNDS = 15
CHUNK = 1000  # characters
QUESTIONS = (
    "二次方程式の解の公式ってどうやるの？",
    "にじほうていしきのかいのこうしき",
    "x²-7x+12=0 を解きたい",
    "how do I solve quadratic equations by completing the square?",
    "等差数列の一搬項",
    "少なくとも1回は表が出る確率の求め方がよくわからないんだけど教えて",
)
VOCABULARY = "school-mathematics"
LOADING = """
from time import perf_counter
began = perf_counter()
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.vocabulary import vocabulary_of
from sakuin.language.model import LexiconEntries
imported = perf_counter()
analyze_query("へいほうかんせい", LexiconEntries(), vocabulary_of("school-mathematics"))
print(imported - began, perf_counter() - imported)
"""


def main(folder: Path) -> None:
    """Prints milliseconds and how many times as long as plain Sudachi."""
    chunks = _chunks(folder)
    numbers = count()
    vocabulary = vocabulary_of(VOCABULARY)

    def asked(query: str) -> None:
        # Never the same question twice: what was read is remembered for a while.
        query = f"{query} {next(numbers)}"
        lexicon_lookup(query, vocabulary)
        analyze_query(query, LexiconEntries(), vocabulary)

    _print(f"a text of {CHUNK} characters", _by_turns(chunks, _index, _tokenize))
    pages = [file.read_bytes() for file in sorted(folder.rglob("*.html"))]
    whole = "\n".join(chunks) * 10
    print(f"{'a page read':28} {min(_seconds(pages, read_page) for _ in range(ROUNDS)) * 1000:8.2f} ms")
    cut = min(_seconds([whole], cut_chunks) for _ in range(ROUNDS))
    print(f"{'a million characters cut':28} {cut / len(whole) * 1e9:8.2f} ms")
    _print("a question", _by_turns(QUESTIONS, asked, _tokenize))
    runs = [subprocess.check_output([sys.executable, "-c", LOADING], text=True).split() for _ in range(3)]
    imported, first = min(((float(imported), float(first)) for imported, first in runs), key=lambda run: run[1])
    print(f"{'import':28} {imported * 1000:8.1f} ms")
    print(f"{'first question':28} {first * 1000:8.1f} ms")


def _chunks(folder: Path) -> list[str]:
    texts = [
        item.content for file in sorted(folder.rglob("*.html")) for item in read_page(file.read_bytes()).explanations
    ]
    whole = "\n".join(texts)
    return [whole[start : start + CHUNK] for start in range(0, len(whole) - CHUNK, CHUNK)]


def _tokenize(text: str) -> None:
    for line in text.splitlines():
        list(_tokenizer().tokenize(line))


@cache
def _tokenizer() -> Tokenizer:
    return Dictionary(dict="small").tokenizer(mode=SplitMode.A)


def _index(text: str) -> None:
    index_words(title="", learns=(), body=text, vocabulary=vocabulary_of(VOCABULARY))


def _print(name: str, seconds: Sequence[tuple[float, float]]) -> None:
    mine, theirs = (median(times) for times in zip(*seconds, strict=True))
    times = median(one / other for one, other in seconds)
    print(f"{name:28} {mine * 1000:8.2f} ms   {times:6.2f} times plain Sudachi ({theirs * 1000:.2f} ms)")


def _by_turns(
    texts: Sequence[str], ours: Callable[[str], object], plain: Callable[[str], object]
) -> list[tuple[float, float]]:
    # By turns: what else the machine does slows both. The first round is slower, and does not count.
    times = [(_seconds(texts, plain), _seconds(texts, ours)) for _ in range(ROUNDS + 1)]
    return [(one, other) for other, one in times[1:]]


def _seconds(texts: Sequence[Any], work: Callable[[Any], object]) -> float:
    # Of this process: on a busy machine, others' work is no part of it.
    began = process_time()
    for text in texts:
        work(text)
    return (process_time() - began) / len(texts)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "samples"))
