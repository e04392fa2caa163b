"""Learns from textbooks which page teaches an exercise, and whether any does, and says how good it is on other books.

`python -m benchmarks.exercises --textbook DIR [--write]`. A folder of DIR is a book that `scripts.textbook` made. Its
pages of at most `_LONGEST` passages are a site. Each exercise is asked over the site, with its page and without: the
row of the page is left out, which is nearly the same as a site that is built without it. A book is judged by what was
learned from books of other subjects. `--write` writes `page_weights.json`, with the sources.
docs/decisions/0176-which-page-or-none.md.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin_cli.prediction import evidence
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.evidence import FEATURES, PageWeights, SiteEvidence

from benchmarks.conditional_logit import learned_weights
from benchmarks.coverage import area, textbook_in
from benchmarks.general import VECTORS
from tests.general.cached_model import CachedModel

_LONGEST = 45
# Sites of so many pages are drawn from a book, that a probability means the same on each; the last one is the book.
_SIZES = (1, 2, 4, 8, 1_000)
# The square of a weight, in standard deviations of its feature, costs so many nats.
_RIDGE = 3.0
# The same book in two languages: other modules of it were taken.
_SUBJECTS = {"quimica": "chemistry"}
Array = NDArray[np.float64]
Books = Mapping[str, Sequence["Asked"]]


@dataclass(frozen=True)
class Asked:
    """An exercise with the FEATURES of its page and of the others.

    `share`: how many exercises of the book it stands for; their mean is 1.
    """

    own: Array
    others: Array
    share: float

    @property
    def all(self) -> Array:
        """Returns the features of all pages, its own first."""
        return np.vstack([self.own, self.others])

    def drawn(self, most: int, chance: Random) -> Array:
        """Returns the features of at most so many pages, its own first."""
        return self.all[[0, *chance.sample(range(1, len(self.others) + 1), min(most - 1, len(self.others)))]]


def main(folder: Path, model: CachedModel, *, write: bool) -> None:
    """Prints how good the weights are on each book that was left out, and may write those of all."""
    console, books = Console(width=120), {}
    for site in sorted(folder.glob("*/site")):
        books[site.parent.name] = list(_asked(site.parent, model))
    table = Table(title="Books that were left out", title_justify="left", box=None)
    for column in ("book", "exercises", "pages", "first", "by evidence", "area", "by evidence", "taught", "removed"):
        table.add_column(column, justify="left" if column == "book" else "right")
    for name, some in books.items():
        others = {other: rows for other, rows in books.items() if _subject(other) != _subject(name)}
        table.add_row(name, *_figures(some, learn(others)))
    console.print(table)
    learned = learn(books)
    document = {
        "weights": _rounded(learned.weights),
        "typical": _rounded(learned.typical),
        "untaught": round(learned.untaught, 4),
        "learned_from": [
            {**_source(folder / name), "pages": len(some[0].all), "exercises": len(some)}
            for name, some in books.items()
        ],
    }
    console.print_json(data=document)
    if write:
        file = Path(evidence.__file__).with_name("page_weights.json")
        file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")


def _asked(folder: Path, model: CachedModel) -> Iterator[Asked]:
    with TemporaryDirectory() as kept:
        book = textbook_in(folder, Cache(Path(kept) / "cache.sqlite"), model, longest=_LONGEST)
        site = SiteEvidence(book.predict, book.site)
        exercises = [row for row in book.exercises if row["page"] in book.site.pages]
        shares = np.array([float(row.get("share", 1)) for row in exercises])
        for row, share in zip(exercises, shares / shares.mean(), strict=True):
            features, own = site(row["query"]).pages, site.pages.index(row["page"])
            yield Asked(features[own], np.delete(features, own, axis=0), float(share))


def learn(books: Books) -> PageWeights:
    """Returns the weights of a conditional logistic regression with one more choice, no page.

    No page has the constant `untaught`, and the logarithm of the number of pages: each may be right by accident.
    """
    asked = [one for some in books.values() for one in some]
    typical = np.mean([np.mean([one.others.mean(axis=0) for one in some], axis=0) for some in books.values()], axis=0)
    # A feature may be the same everywhere.
    spread = np.maximum(np.mean([one.others.std(axis=0) for one in asked], axis=0), 0.001)
    chance = Random(0)
    taught = [(one.share, one.drawn(most, chance), 0) for most in _SIZES for one in asked]
    untaught = [(one.share, one.drawn(most + 1, chance)[1:], -1) for most in _SIZES for one in asked]
    sites = [*taught, *untaught]
    shares = np.array([share for share, _, _ in sites])
    # The last choice is no page; between it and the pages of a small site there is nothing to choose.
    width = max(len(site) for _, site, _ in sites) + 1
    features, offsets = np.zeros((len(sites), width, len(FEATURES) + 1)), np.full((len(sites), width), -np.inf)
    right, without_weights = np.zeros(offsets.shape, bool), PageWeights(spread, typical, 0.0)
    for number, (_, site, place) in enumerate(sites):
        features[number, : len(site), :-1] = without_weights.beyond(site) / spread
        offsets[number, : len(site)] = 0.0
        features[number, -1, -1], offsets[number, -1] = 1.0, np.log(len(site))
        right[number, place] = True
    weights = learned_weights(features, offsets, right, shares, np.array([*[_RIDGE] * len(FEATURES), 0.001]))
    return PageWeights(weights[:-1] / spread, typical, float(weights[-1]))


def _figures(some: Sequence[Asked], learned: PageWeights) -> Iterator[str]:
    shares = [one.share for one in some]
    scores, without = [learned.scores(one.all) for one in some], [learned.scores(one.others) for one in some]
    taught, removed = (list(map(learned.taught, each)) for each in (scores, without))
    yield from (str(len(some)), str(len(some[0].all)))
    yield f"{np.average([each.argmax() == 0 for each in scores], weights=shares):.3f}"
    yield f"{np.average([one.all[:, 0].argmax() == 0 for one in some], weights=shares):.3f}"
    yield f"{area(taught, removed):.3f}"
    yield f"{area([one.all[:, 0].max() for one in some], [one.others[:, 0].max() for one in some]):.3f}"
    yield from (f"{np.mean(np.array(each) >= 0.5):.3f}" for each in (taught, removed))


def _rounded(values: Iterable[float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in zip(FEATURES, values, strict=True)}


def _source(folder: Path) -> dict[str, str]:
    source: dict[str, str] = {"folder": folder.name}
    if (file := folder / "source.json").exists():
        source = json.loads(file.read_text("utf-8"))
    return source


def _subject(name: str) -> str:
    return _SUBJECTS.get(name, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--textbook", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    main(given.textbook, CachedModel.in_file(VECTORS), write=given.write)
