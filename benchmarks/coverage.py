"""Which exercises of a textbook its pages teach, as `sakuin coverage` says it, beside simple engines.

`python -m benchmarks.coverage --textbook DIR [LANGUAGE …]`. A language is a folder of DIR with `site/` and
`exercises.jsonl`: a line an exercise with `query` and the `page` that teaches it; without it, the questions that
`benchmarks.general` reads are the exercises. No weight should be learned from them.

- An exercise is asked over all pages: the first page, and the first five; simple engines have those of their sections.
- A page is removed, and its exercises are asked beside some of the others: thirty pages, drawn by three seeds. The area
  under the curve is how often one of the others has the higher score.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin.platform.embedding import EmbeddingModel, packed
from sakuin.retrieval.index_version import ANALYZER, TEXT_TEMPLATE, PageIndexVersion
from sakuin.retrieval.weights import weights_of
from sakuin_cli.evaluation.coverage import CoveredQuestion, TeachingPages
from sakuin_cli.evaluation.exam import ExamQuestion
from sakuin_cli.evaluation.statistics import Resamples
from sakuin_cli.prediction.answers import Predict
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.evidence import SiteEvidence
from sakuin_cli.prediction.pages import PredictedSite, predicted_site
from sakuin_cli.prediction.vectors import Vectors
from sakuin_cli.site.uploads import uploads_below

from benchmarks.general import SAKUIN, VECTORS, figures, read_lines, read_questions
from benchmarks.peers import bm25_scores, characters, rankings, whole_words
from tests.general.cached_model import CachedModel

_REMOVED, _SEEDS, _OTHERS = 30, (1, 2, 3), 10
_TIMED = 2_000
Scores = dict[str, list[float]]


@dataclass(frozen=True)
class ModelClient:
    """The part of `DeploymentClient` that a prediction calls, over a model alone."""

    model: CachedModel

    def vectors(
        self, *, names: Sequence[str] = (), texts: Sequence[str] = (), queries: Sequence[str] = ()
    ) -> dict[str, Any]:
        asked = [self.model.query(query) for query in queries]
        return {
            "vectors": {},
            "texts": list(map(packed, self.model.passages(texts))),
            "queries": list(map(packed, asked)),
        }


@dataclass(frozen=True)
class Textbook:
    """The pages of a textbook with their texts and vectors, and its exercises with their pages."""

    predict: Predict
    site: PredictedSite
    exercises: Sequence[Mapping[str, str]]
    model: CachedModel

    def without(self, page: str) -> PredictedSite:
        """The site as it is built without a page."""
        return replace(self.site, pages={name: each for name, each in self.site.pages.items() if name != page})

    def covered(self, site: PredictedSite, exercises: Sequence[Mapping[str, str]]) -> Sequence[CoveredQuestion]:
        """The exercises as `sakuin coverage` asks them."""
        ask = TeachingPages(SiteEvidence(self.predict, site), at=0)
        return [ask(ExamQuestion(row["page"], row["query"])) for row in exercises]


def textbook_in(folder: Path, cache: Cache, model: CachedModel, *, longest: int | None = None) -> Textbook:
    """Reads the pages of a textbook, of at most `longest` passages, and has the vectors of these."""
    version = PageIndexVersion(EmbeddingModel(model.name, 1536), TEXT_TEMPLATE, ANALYZER, "")
    uploads = uploads_below([folder / "site"], folder="")
    site = predicted_site(uploads, version, cache)
    if longest is not None:
        site = replace(site, pages={name: page for name, page in site.pages.items() if len(page.texts) <= longest})
    vectors = Vectors(cache, version.space, ModelClient(model))  # type: ignore[arg-type]  # what it calls of one
    texts = {name: text for page in site.pages.values() for name, text in page.texts.items()}
    if missing := vectors.fetch(texts, lambda _phase, _done, _total: None):
        raise SystemExit(missing)
    predict = Predict(version, weights_of(model.name), vectors)
    return Textbook(predict, site, _exercises(folder), model)


def _exercises(folder: Path) -> list[dict[str, str]]:
    if (file := folder / "exercises.jsonl").exists():
        return read_lines(file)
    rows = read_questions(folder.parent, folder.name)
    return [{"query": row["query"], "page": row["chunk"].split("#")[0]} for row in rows if row["chunk"]]


class SimpleEngines:
    """Simple engines over the explanations of a textbook. A removed page is one whose columns do not count."""

    def __init__(self, book: Textbook) -> None:
        pages = [(name, chunk, page.texts) for name, page in book.site.pages.items() for chunk in page.chunks]
        self.pages = np.array([name for name, _, _ in pages])
        self.texts = ["\n".join((c.shown["title"], c.shown["page_title"], c.shown["content"])) for _, c, _ in pages]
        self.queries = [row["query"] for row in book.exercises]
        passages = book.model.matrix([texts[each] for _, c, texts in pages for each in c.passages], queries=False)
        starts = np.cumsum([0, *(len(c.passages) for _, c, _ in pages)])[:-1]
        # A text is as near as its nearest passage.
        asked = book.model.matrix(self.queries, queries=True)
        self.cosines: NDArray[np.float32] = np.maximum.reduceat(asked @ passages.T, starts, axis=1)
        self._scores = self._all_scores()

    def _all_scores(self) -> dict[str, NDArray[Any]]:
        """A row an exercise, a column an explanation, in a scale that all exercises share."""
        words = bm25_scores(self.texts, self.queries, whole_words)
        grams = bm25_scores(self.texts, self.queries, characters)
        scores: dict[str, NDArray[Any]] = {
            "BM25, characters 1+2": grams,
            "BM25, words": words,
            "vectors alone": self.cosines,
        }
        near = _scaled(self.cosines)
        for name, leg in (("characters", grams), ("words", words)):
            scores[f"weighted sum, {name}"] = 0.6 * _scaled(leg) + 0.4 * near
        return scores

    def best(self, removed: str, row: int) -> dict[str, float]:
        """The best score of an exercise in each engine, without a page."""
        kept = self.pages != removed
        rows = {name: scores[row][kept] for name, scores in self._scores.items()}
        by_meaning = _ranks(rows["vectors alone"])
        for name, leg in (("characters", "BM25, characters 1+2"), ("words", "BM25, words")):
            rows[f"RRF, {name}"] = 1 / (60 + by_meaning) + 1 / (60 + _ranks(rows[leg]))
        return {name: float(scores.max()) for name, scores in rows.items()}


def _ranks(scores: NDArray[Any]) -> NDArray[np.int64]:
    ranks: NDArray[np.int64] = (-scores).argsort(kind="stable").argsort() + 1
    return ranks


def _scaled(scores: NDArray[Any]) -> NDArray[Any]:
    """Scores between 0 and 1 over all exercises."""
    return (scores - scores.min()) / (scores.max() - scores.min())


def main(data: Path, languages: Sequence[str], model: CachedModel) -> None:
    """Prints the tables of each language."""
    console, resamples = Console(width=120), Resamples()
    with TemporaryDirectory() as folder:
        for language in languages:
            book = textbook_in(data / language, Cache(Path(folder) / f"{language}.sqlite"), model)
            engines = SimpleEngines(book)
            began = time.process_time()
            covered = book.covered(book.site, book.exercises)
            console.print(_time(book, time.process_time() - began))
            answers = {
                name: [
                    [page == row["page"] for page in dict.fromkeys(engines.pages[one])]
                    for row, one in zip(book.exercises, some, strict=True)
                ]
                for name, some in rankings(engines.texts, engines.queries, engines.cosines, limit=50).items()
            }
            answers[SAKUIN] = [[page == one.question.name for page in one.pages] for one in covered]
            console.print(figures(f"{language}, exercise to page", answers, resamples, ""))
            _print_removed(console, language, [_removed(book, engines, seed) for seed in _SEEDS])


def _time(book: Textbook, first: float) -> str:
    """The time of 2,000 exercises whose vectors are there."""
    exercises = (list(book.exercises) * _TIMED)[:_TIMED]
    clock, began = time.perf_counter(), time.process_time()
    book.covered(book.site, exercises)
    seconds, used = time.perf_counter() - clock, time.process_time() - began
    pages, passages = len(book.site.pages), sum(len(page.texts) for page in book.site.pages.values())
    return (
        f"{pages} pages, {passages} passages: {_TIMED} exercises in {seconds:.1f} s, {used:.1f} processor seconds "
        f"({len(book.exercises)} with their embedding: {first:.1f})"
    )


def _removed(book: Textbook, engines: SimpleEngines, seed: int) -> tuple[Scores, Scores]:
    """The scores by engine of the exercises of removed pages, and of the others."""
    chance = Random(seed)
    taught = sorted({row["page"] for row in book.exercises} & book.site.pages.keys())
    pages = chance.sample(taught, min(_REMOVED, len(taught)))
    of_removed: Scores = defaultdict(list)
    of_others: Scores = defaultdict(list)
    for page in pages:
        own = [number for number, row in enumerate(book.exercises) if row["page"] == page]
        rest = [number for number in range(len(book.exercises)) if number not in own]
        others = chance.sample(rest, min(_OTHERS, len(rest)))
        covered = book.covered(book.without(page), [book.exercises[number] for number in (*own, *others)])
        for number, one in zip((*own, *others), covered, strict=True):
            scores = of_removed if number in own else of_others
            for name, score in {SAKUIN: one.probability, **engines.best(page, number)}.items():
                scores[name].append(score)
    return of_removed, of_others


def _print_removed(console: Console, language: str, runs: Sequence[tuple[Scores, Scores]]) -> None:
    counts = ", ".join(f"{len(removed[SAKUIN])} and {len(others[SAKUIN])}" for removed, others in runs)
    title = f"{language}, exercises of removed pages and others ({counts}): area under the curve"
    table = Table(title=title, title_justify="left", box=None)
    for column in ("engine", *(f"seed {seed}" for seed in _SEEDS), "mean"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    for name in runs[0][0]:
        areas = [area(others[name], removed[name]) for removed, others in runs]
        table.add_row(name, *(f"{area:.3f}" for area in (*areas, float(np.mean(areas)))))
    console.print(table)
    curve = Table(title=f"{language}, counted as taught from a probability", title_justify="left", box=None)
    for column in ("at least", "others", "of removed pages"):
        curve.add_column(column, justify="right")
    pooled = [np.array([score for run in runs for score in run[kind][SAKUIN]]) for kind in (1, 0)]
    for at in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
        curve.add_row(f"{at:.2f}", *(f"{np.mean(scores >= at):.3f}" for scores in pooled))
    console.print(curve)


def area(others: Sequence[float], removed: Sequence[float]) -> float:
    """How often one of the others has the higher score; equal ones count half."""
    one, other = np.array(others)[:, None], np.array(removed)[None, :]
    return float(np.mean((one > other) + 0.5 * (one == other)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--textbook", type=Path, required=True)
    parser.add_argument("languages", nargs="*")
    given = parser.parse_args()
    found = given.languages or sorted(file.parent.name for file in given.textbook.glob("*/exercises.jsonl"))
    main(given.textbook, found, CachedModel.in_file(VECTORS))
