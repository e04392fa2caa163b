"""Sakuin beside simple engines on subjects other than mathematics: pages and a Table of the same text, in one run.

`python -m benchmarks.general --data DIR [LANGUAGE …]`. A language is a folder of DIR with `table.json`
({"articles": [{"title", "content"}]}), `site/` (the same text as pages) and `queries.jsonl`: a line a question with
`query`, the `chunk` that answers it on the pages, and `json_pointer`, `start` and `end` of the answer in the Table, in
code points. `chunk` is null where no page answers. Without `table.json` only the pages are asked.
docs/how-to/evaluation.md says how to make such folders of public question sets. No vocabulary is loaded.

A folder of a textbook has `definitions.jsonl` (`query` and the chunks in `gold`) and `exercises.jsonl` (`query` and the
`page` of which any chunk answers) instead.

`--endpoint URL --model NAME` asks another embedding model, at an endpoint as OpenAI's, with the key OPENAI_API_KEY.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin.retrieval.index_version import TableCut
from sakuin.retrieval.weights import weights_of
from sakuin.tables.chunking import ChunkText, chunks
from sakuin.tables.search import TableExplanation
from sakuin_local.embeddings.model import NAME
from sakuin_local.supabase.database import running_database

from benchmarks.peers import rankings
from tests.general.cached_model import CachedModel
from tests.general.library import indexed
from tests.worlds import table_search_with, turbopuffer_in, world_of

VECTORS = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "vectors.db"
DEPTH = 50
THRESHOLD = 200
SAKUIN = "Sakuin"
# For each question its results, best first, each right or wrong.
Answers = list[list[bool]]


def main(data: Path, languages: Sequence[str], model: CachedModel) -> None:
    """Prints a table for the pages of each language, and one for its Table if it has one."""
    console = Console(width=120)
    for language in languages:
        for kind in ("definitions", "exercises"):
            if (file := data / language / f"{kind}.jsonl").exists():
                answers, remark = _pages(data / language / "site", read_lines(file), model)
                console.print(figures(f"{language}, {kind}", answers, remark))
        if not (data / language / "queries.jsonl").exists():
            continue
        questions = read_questions(data, language)
        answers, remark = _pages(data / language / "site", questions, model)
        console.print(figures(f"{language}, pages", answers, remark))
        if (data / language / "table.json").exists():
            answers, remark = _table(read_articles(data, language), questions, model)
            console.print(figures(f"{language}, Search Tool", answers, remark))


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def read_questions(data: Path, language: str) -> list[dict[str, Any]]:
    return read_lines(data / language / "queries.jsonl")


def read_articles(data: Path, language: str) -> list[dict[str, Any]]:
    articles: list[dict[str, Any]] = json.loads((data / language / "table.json").read_text("utf-8"))["articles"]
    return articles


def _pages(site: Path, asked: Sequence[Mapping[str, Any]], model: CachedModel) -> tuple[dict[str, Answers], str]:
    """Returns the answers to the questions that have one, and how many questions of either kind were refused."""
    questions = [question for question in asked if question.get("chunk", "") is not None]
    others = [question for question in asked if question not in questions]
    with indexed(site, model, vocabulary="") as library:
        found = [library.explain(question["query"], depth=DEPTH) for question in questions]
        recognised = sum(library.explain(question["query"]).refused for question in others)
        ids = list(library.texts)
        answers = _baselines(list(library.texts.values()), questions, model, lambda row, at: _answers(row, ids[at]))
    answers[SAKUIN] = [
        [_answers(question, hit.id) for hit in said.results] for question, said in zip(questions, found, strict=True)
    ]
    remark = f"refused {sum(said.refused for said in found) / len(questions):.1%}"
    return answers, f"{remark}, {recognised} of {len(others)} without an answer recognised" if others else remark


def _answers(question: Mapping[str, Any], chunk: str) -> bool:
    if "page" in question:
        return chunk.partition("#")[0] == question["page"]
    return chunk in question.get("gold", [question.get("chunk")])


def _table(
    articles: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], model: CachedModel
) -> tuple[dict[str, Answers], str]:
    """Returns the answers to the questions, and how many were refused although there is an answer."""
    places = _pieces(articles)
    texts = [piece.text for _, piece in places]
    answers = _baselines(texts, questions, model, lambda row, at: _holds(row, places[at]))
    with searched_table(articles, model) as explanation:
        found = [explanation(question["query"]) for question in questions]
    hits = [[each.chunk for each in said.candidates[:DEPTH]] for said in found]
    answers[SAKUIN] = [
        [holds_answer(row, hit.json_pointer, hit.char_start, hit.char_end) for hit in some]
        for row, some in zip(questions, hits, strict=True)
    ]
    return answers, f"refused {sum(said.is_refused for said in found) / len(questions):.1%}"


def _pieces(articles: Sequence[Mapping[str, Any]]) -> list[tuple[str, ChunkText]]:
    """Returns the chunks of a Table with the pointers of their strings."""
    cut = TableCut()
    return [
        (f"/articles/{number}/content", piece)
        for number, article in enumerate(articles)
        if len(article["content"]) >= THRESHOLD
        for piece in chunks(article["content"], size=cut.chunk_size, overlap=cut.overlap)
    ]


def _holds(question: Mapping[str, Any], place: tuple[str, ChunkText]) -> bool:
    pointer, piece = place
    return holds_answer(question, pointer, piece.char_start, piece.char_end)


def holds_answer(question: Mapping[str, Any], pointer: str, start: int, end: int) -> bool:
    """Whether a piece of a string, in code points, has the whole answer."""
    is_whole = start <= question["start"] and question["end"] <= end
    return bool(pointer == question["json_pointer"] and is_whole)


@contextmanager
def searched_table(
    articles: Sequence[Mapping[str, Any]], model: CachedModel
) -> Iterator[Callable[[str], TableExplanation]]:
    """Explains questions to a Table of articles, in a database of its own."""
    with (
        TemporaryDirectory() as folder,
        running_database(Path(folder, "database")) as database,
        turbopuffer_in(Path(folder)) as store,
    ):
        world = world_of(database, store)
        embedder: Any = model
        world.embedder = embedder
        _, _, endpoint_id = world.indexed({"articles": articles})
        endpoint = world.bound(endpoint_id)
        search = table_search_with(world.table_search(), weights=weights_of(model.name))
        yield partial(search.explanation, endpoint.id, endpoint.tools[0])


def _baselines(
    texts: list[str],
    questions: Sequence[Mapping[str, Any]],
    model: CachedModel,
    is_right: Callable[[Mapping[str, Any], int], bool],
) -> dict[str, Answers]:
    queries = [question["query"] for question in questions]
    asked, stored = model.matrix(queries, queries=True), model.matrix(texts, queries=False)
    cosines: NDArray[np.float32] = asked @ stored.T
    return {
        name: [[is_right(row, at) for at in ranking] for row, ranking in zip(questions, some, strict=True)]
        for name, some in rankings(texts, queries, cosines, limit=DEPTH).items()
    }


def figures(title: str, answers: Mapping[str, Answers], remark: str) -> Table:
    table = Table(title=f"{title}: {len(answers[SAKUIN])} questions {remark}", title_justify="left", box=None)
    for column in ("engine", "hit@1", "hit@5"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    for name, one in answers.items():
        table.add_row(name, *(f"{np.mean([any(hits[:k]) for hits in one]):.3f}" for k in (1, 5)))
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--endpoint")
    parser.add_argument("--model", default=NAME)
    parser.add_argument("languages", nargs="*")
    given = parser.parse_args(sys.argv[1:])
    cached = CachedModel.in_file(VECTORS, endpoint=given.endpoint, name=given.model)
    languages = given.languages or sorted(file.parent.name for file in given.data.glob("*/queries.jsonl"))
    main(given.data, languages, cached)
