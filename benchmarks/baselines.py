"""Sakuin beside what people build from the parts: the same texts, the same vectors, the same questions, in one run.

`python -m benchmarks.baselines LABELS.jsonl FOLDER [dev|held-out]`. LanceDB takes part where `make bench` has
installed it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table
from sakuin_cli.evaluation.figures import WHOLE, Answer, Group, groups, measures
from sakuin_cli.evaluation.labels import LabelledQuestion, labelled_questions
from sakuin_cli.evaluation.statistics import Resamples

from benchmarks.cached_model import CachedModel
from benchmarks.in_process import Library, indexed
from benchmarks.peers import Ranking, fts5_trigrams, nearest, ngram_bm25, reciprocal_rank_fusion

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "build" / "benchmarks" / "vectors.db"
LANCEDB = ROOT / ".tools" / "bench" / "bin" / "python"
K = 5
DEPTH = 50
SAKUIN = "Sakuin"


def main(labels: Path, folder: Path, half: str | None) -> None:
    """Prints a table for each measure: a row an engine, a column a category, and the ratio to Sakuin."""
    questions = [
        one for one in labelled_questions(labels.read_text("utf-8"))[0] if one.gold and half in (None, one.half)
    ]
    model = CachedModel.in_file(VECTORS)
    with indexed(folder, model) as library:
        answers = {**_peers(library, questions, model), SAKUIN: _sakuin(library, questions)}
    resamples = Resamples()
    figures = {
        name: groups(questions, asked, k=K, view="order", resamples=resamples) for name, asked in answers.items()
    }
    console = Console(width=120)
    console.print(f"{len(questions)} questions with an answer, {len(library.texts)} chunks")
    for measure in measures(K):
        console.print(_table(measure, figures))


def _peers(library: Library, questions: Sequence[LabelledQuestion], model: CachedModel) -> dict[str, list[Answer]]:
    ids, texts = list(library.texts), list(library.texts.values())
    queries = [question.query for question in questions]
    passages, asked = model.matrix(texts, queries=False), model.matrix(queries, queries=True)
    vectors = nearest(passages, asked, limit=DEPTH)
    rankings = {
        "2-gram BM25": ngram_bm25(texts, queries, sizes=(2,), limit=DEPTH),
        "FTS5 trigram": fts5_trigrams(texts, queries, limit=DEPTH),
        "vectors alone": vectors,
        "RRF60(e5, 1+2-gram BM25)": reciprocal_rank_fusion(
            vectors, ngram_bm25(texts, queries, sizes=(1, 2), limit=DEPTH), limit=DEPTH
        ),
    }
    if LANCEDB.exists():
        rankings["LanceDB hybrid"] = _lancedb(texts, queries, passages, asked)
    return {name: [Answer(tuple(ids[place] for place in one)) for one in some] for name, some in rankings.items()}


def _lancedb(texts: Sequence[str], queries: Sequence[str], passages: np.ndarray, asked: np.ndarray) -> list[Ranking]:
    with TemporaryDirectory() as data:
        folder = Path(data)
        (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        (folder / "queries.json").write_text(json.dumps(queries), "utf-8")
        np.save(folder / "passages.npy", passages)
        np.save(folder / "questions.npy", asked)
        script = Path(__file__).with_name("lancedb_hybrid.py")
        subprocess.run([str(LANCEDB), str(script), data], check=True)
        rankings: list[Ranking] = json.loads((folder / "rankings.json").read_text("utf-8"))
        return rankings


def _sakuin(library: Library, questions: Sequence[LabelledQuestion]) -> list[Answer]:
    answers = []
    for question in questions:
        said = library.explain(question.query, depth=DEPTH)
        answers.append(Answer(tuple(hit.id for hit in said.results), said.refused))
    return answers


def _table(measure: str, figures: Mapping[str, Sequence[Group]]) -> Table:
    names = [group.name for group in figures[SAKUIN] if measure in group.figures]
    table = Table(title=measure, title_justify="left", box=None, pad_edge=False)
    table.add_column("engine", no_wrap=True)
    for name in (*names, "to Sakuin"):
        table.add_column(name, justify="right")
    ours = figures[SAKUIN][0].figures[measure].mean
    for engine, some in figures.items():
        found = {group.name: group.figures[measure].mean for group in some if measure in group.figures}
        table.add_row(engine, *(f"{found[name]:.3f}" for name in names), f"{found[WHOLE] / ours:.2f}")
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
