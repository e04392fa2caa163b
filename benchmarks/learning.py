"""Learns the weights of the ranking from public question sets, and says how good they are where they did not learn.

`python -m benchmarks.learning --data DIR --textbook DIR --documentation DIR [--write]`. The first DIR has folders as
`benchmarks.general` reads them; a textbook has folders by language with `site/` and `definitions.jsonl` (`query`,
`gold`); documentation has the pages of each site in `benchmarks/documentation`. The short texts in
`tests/general`, and the samples with the development half of their labels, are collections, too. The features of each
collection are recorded below `build/learning` at the first run; delete a file there to record it again. `--write`
writes `weights.json`.

Every collection weighs the same. A collection is judged by weights that were learned without its group: translations of
the same articles are one group. docs/decisions/0111-learned-weights.md. Questions in another language than the
pages are judged, and teach nothing: docs/decisions/0155-questions-in-another-language.md.
"""

import argparse
import json
import pickle
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin.retrieval import weights as learned
from sakuin.retrieval.ranking import Ranked, leads
from sakuin.retrieval.vectors import SearchMode
from sakuin.retrieval.weights import Scale, learned_scale
from sakuin_local.embeddings.model import NAME

from benchmarks.conditional_logit import learned_weights
from benchmarks.general import VECTORS, holds_answer, read_articles, read_lines, read_questions, searched_table
from tests.general.cached_model import CachedModel
from tests.general.library import indexed

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "tests" / "general"
QUESTIONS = ROOT / "benchmarks" / "documentation"
RECORDED = ROOT / "build" / "learning"
FEATURES = ("meaning", "words", "covered", "scattered", "example")
# Of each question so many candidates are recorded, and so many results are judged.
_CANDIDATES, _RESULTS = 50, 5
# Of a set with at least twice as many articles, every n-th is taken, so that so many remain at least.
_ARTICLES = 65
# One question in ten has no answer in the index; so much do the questions without one weigh in the probability.
_WITHOUT_ANSWER = 0.1
# So many of the questions with an answer may be marked as `no_good_match`, and so many in each group of collections.
_MARKED, _MARKED_OF_GROUP = 0.02, 0.05
# So many of the questions off the topic, in another language than the pages, are to be marked.
_RECOGNISED = 0.98
# Until then the need of a good match does not change any more.
_ROUNDS = 12
# Keeps the weights finite.
_RIDGE = 1e-3
# Collections that are judged and teach nothing: of a textbook one section is right, where its summary says the same;
# questions in other languages than the pages; and two of the sites of documentation.
_TEXTBOOK, _ACROSS = "textbook", "across"
_JUDGED = (_TEXTBOOK, _ACROSS, "judged documentation")
_TEACHING_SITES = ("cargo", "click")
# The parallel sets, in twelve languages.
_XQUAD = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
# The languages of pages that are asked in all others, of five scripts.
_ASKED_ACROSS = ["ar", "de", "en", "hi", "zh"]
# The languages of these sets, by family; others are one of their own.
_FAMILIES = {
    **{"de": "Germanic", "en": "Germanic", "es": "Romance", "ro": "Romance", "ru": "Slavic", "el": "Greek"},
    **{"ar": "Semitic", "hi": "Indic", "tr": "Turkic", "th": "Kra-Dai", "vi": "Austroasiatic"},
    **{"ja": "Japanese", "ja-jaquad": "Japanese", "mathematics": "Japanese"},
    **{"zh": "Chinese", "zh-cmrc": "Chinese", "zh-drcd": "Chinese"},
}
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question with a row of FEATURES for each candidate, and which candidates are right.

    `kind`: `answer` if the index has one, `near` if it has the article without the paragraph, `other` if neither.
    `grams`: the share of its character grams that each candidate has. `by_meaning`: how much of its scale is that for
    meaning alone. `lower`: that of `Unrelated`. `language`: its own, if that is not the pages'.
    """

    kind: str
    features: Array
    right: NDArray[np.bool_]
    grams: Array
    by_meaning: float
    lower: float
    language: str = ""


# Its text, the ids of right chunks, its kind, and its language if that is not the pages'.
Question = tuple[str, Sequence[str], str, str]
Collection = list[Asked]


def main(data: Path, textbooks: Path, sites: Path, *, write: bool) -> None:
    """Records what is not recorded, learns with each group left out, prints the figures, and learns from all."""
    folder = RECORDED / data.resolve().name
    with TemporaryDirectory() as copy:
        collections = _collections(_smaller(data, Path(copy)), textbooks, sites)
        recorded = {name: _recorded(folder / f"{name}.pickle", record) for name, record in collections}
    console = Console(width=140)
    without_group = _left_out(recorded)
    console.print(_figures(recorded, without_group))
    console.print(_by_family(recorded, without_group))
    console.print(_across(recorded, without_group))
    console.print(_ablation(recorded))
    weights = learn(_teaching(recorded), _of_others(recorded, ""))
    console.print_json(json.dumps(weights))
    if write:
        file = Path(learned.__file__).with_name("weights.json")
        of_models = json.loads(file.read_text("utf-8"))["models"]
        document = {**weights, "models": of_models, "provenance": _provenance(recorded)}
        file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")


def _smaller(data: Path, copy: Path) -> Path:
    """Copies the question sets, of a large one so few articles that embedding them takes minutes.

    The page of article n is `a<n>.html`.
    """
    for folder in (file.parent for file in data.glob("*/queries.jsonl")):
        site = copy / folder.name / "site"
        site.mkdir(parents=True)
        pages = sorted((folder / "site").glob("*.html"), key=lambda page: int(page.stem[1:]))
        kept = {page.stem for page in pages[:: max(1, len(pages) // _ARTICLES)]}
        for name in kept:
            shutil.copy(folder / "site" / f"{name}.html", site)
        rows = (
            row
            for row in read_questions(data, folder.name)
            if not row["chunk"] or row["chunk"].partition("#")[0] in kept
        )
        (site.parent / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        if (folder / "table.json").exists():
            # Without a text an article has no chunk, and the pointers of the others stay.
            articles = (
                article if f"a{number}" in kept else {**article, "content": ""}
                for number, article in enumerate(read_articles(data, folder.name))
            )
            (site.parent / "table.json").write_text(json.dumps({"articles": list(articles)}), "utf-8")
    return copy


def _collections(data: Path, textbooks: Path, sites: Path) -> Iterator[tuple[str, Callable[[], Collection]]]:
    model = CachedModel.in_file(VECTORS)
    for folder in sorted(file.parent for file in data.glob("*/queries.jsonl")):
        name = folder.name
        yield f"{name} pages", partial(_pages, folder / "site", _of_pages(data, name), model)
        if (folder / "table.json").exists():
            yield f"{name} parts", partial(_parts, data, name, model)
            yield f"{name} Table", partial(_table, data, name, model)
    for name in filter(lambda each: (data / each).exists(), _ASKED_ACROSS):
        yield f"{name} {_ACROSS}", partial(_parts, data, name, model, [each for each in _XQUAD if each != name])
    for folder in sorted(file.parent for file in textbooks.glob("*/definitions.jsonl")):
        asked = [(row["query"], row["gold"], "answer", "") for row in read_lines(folder / "definitions.jsonl")]
        yield f"{folder.name} textbook", partial(_pages, folder / "site", asked, model)
    for folder in sorted(file.parent for file in OWN.glob("*/queries.jsonl")):
        yield f"{folder.name} short texts", partial(_pages, folder / "site", _of_pages(OWN, folder.name), model)
    for file in sorted(QUESTIONS.glob("*.toml")):
        kind = "documentation" if file.stem in _TEACHING_SITES else "judged documentation"
        yield f"{file.stem} {kind}", partial(_pages, sites / file.stem, _of_documentation(file), model)
    yield "mathematics", partial(_pages, ROOT / "samples", _own_labels(), model, vocabulary="school-mathematics")


def _recorded(file: Path, record: Callable[[], Collection]) -> Collection:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(record()))
    recorded: Collection = pickle.loads(file.read_bytes())  # noqa: S301 - a file that this program wrote
    return recorded


def _some(of: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """At most 400 questions of a set, from all its parts."""
    return of[:: max(1, len(of) // 400)]


def _of_pages(data: Path, name: str) -> list[Question]:
    return [
        (row["query"], [row["chunk"]], "answer", "") if row["chunk"] else (row["query"], [], "other", "")
        for row in _some(read_questions(data, name))
    ]


def _of_documentation(file: Path) -> list[Question]:
    of = tomllib.loads(file.read_text("utf-8"))
    answers = [(query, gold, "answer", "") for query, gold in of["answers"].items()]
    answers += [(query, gold, "answer", "another") for query, gold in of["in-another-language"].items()]
    return [*answers, *((query, [], kind, "") for kind in ("near", "other") for query in of[kind])]


def _own_labels() -> list[Question]:
    labels = ROOT / "tests" / "labels"
    rows = [row for file in ("knowledge", "paraphrases", "near_misses") for row in read_lines(labels / f"{file}.jsonl")]
    return [
        (row["query"], gold, "answer" if gold else "other" if row.get("category") == "off-topic" else "near", "")
        for row, gold in ((row, row.get("gold", [])) for row in rows)
        if row.get("half") != "held-out" and row.get("site", "samples") == "samples"
    ]


def _parts(data: Path, name: str, model: CachedModel, languages: Sequence[str] = ()) -> Collection:
    """Half of the articles and of these half of the paragraphs, so that most questions have no answer.

    Of other languages every fifth question is asked.
    """
    with TemporaryDirectory() as folder:
        site, kept = Path(folder), set()
        for page in sorted((data / name / "site").glob("*.html"))[::2]:
            start, *boxes = re.split(r'(?=<div class="definition" id=")', page.read_text("utf-8"))
            end = boxes[-1][boxes[-1].rindex("</div>") + len("</div>") :]
            boxes = [box.removesuffix(end) for box in boxes[::2]]
            ids = [re.findall('id="([^"]+)"', box)[0] for box in boxes]
            kept |= {f"{page.stem}#{id}" for id in ids}
            (site / page.name).write_text("".join([start, *boxes, end]), "utf-8")
        articles_kept = {chunk.split("#")[0] for chunk in kept}
        asked = [
            (query, [chunk], "answer", language)
            if chunk in kept
            else (query, [], "near" if chunk.split("#")[0] in articles_kept else "other", language)
            for language in languages or [""]
            for query, chunks, _, _ in _of_pages(data, language or name)[:: 5 if language else 1]
            for chunk in chunks
        ]
        return _pages(site, asked, model)


def _pages(site: Path, asked: Iterable[Question], model: CachedModel, *, vocabulary: str = "") -> Collection:
    with indexed(site, model, vocabulary=vocabulary) as library:
        search, found = library.explanations.searches.knowledge_search(), []
        for query, right, kind, language in asked:
            ranked = search.ranked_matches(query, limit=_CANDIDATES)
            lowers = not ranked.understood.wants_example
            rows = [(*_of_score(m.ranked), lowers and m.type == "example") for m in ranked.matches]
            are_right = np.array([m.id in right for m in ranked.matches], bool)
            grams, scale = np.array([m.ranked.words.grams for m in ranked.matches]), ranked.answer.scale
            found.append(Asked(kind, _rows(rows), are_right, grams, scale.by_meaning, scale.lower, language))
        return found


def _table(data: Path, name: str, model: CachedModel) -> Collection:
    with searched_table(read_articles(data, name), model) as explanation:
        found = []
        for row in _some(read_questions(data, name)):
            candidates = explanation(row["query"]).candidates[:_CANDIDATES]
            chunks = [each.chunk for each in candidates]
            right = [holds_answer(row, each.json_pointer, each.char_start, each.char_end) for each in chunks]
            of = [each.ranked for each in candidates]
            rows = [(*_of_score(each), 0.0) for each in of]
            grams = np.array([each.words.grams for each in of])
            by_meaning, lower = (of[0].scale.by_meaning, of[0].scale.lower) if of else (0.0, 0.0)
            found.append(Asked("answer", _rows(rows), np.array(right, bool), grams, by_meaning, lower))
        return found


def _of_score(ranked: Ranked) -> tuple[float, ...]:
    return ranked.z, ranked.words.share, ranked.words.covered, ranked.words.scattered


def _rows(rows: Sequence[Sequence[float]]) -> Array:
    return np.array(rows, dtype=float).reshape(len(rows), len(FEATURES))


def _group(name: str) -> str:
    language, _, kind = name.partition(" ")
    if kind in (_TEXTBOOK, "short texts"):
        return kind
    return "XQuAD" if language in _XQUAD else language


def _teaches(name: str) -> bool:
    return name.partition(" ")[2] not in _JUDGED


def _teaching(recorded: Mapping[str, Collection]) -> dict[str, Collection]:
    """Returns the collections that teach, without their questions in another language."""
    return {name: [one for one in some if not one.language] for name, some in recorded.items() if _teaches(name)}


def learn(teaching: Mapping[str, Collection], across: Sequence[Collection]) -> dict[str, Any]:
    """Returns the weights of the score and the scales, as `weights.json` has them.

    `across` have the questions in other languages.
    """
    collections = list(teaching.values())
    order = _order(collections)
    least, farther = _needs(teaching, across, order)
    needs: dict[SearchMode, float] = {"both": least}
    scales = {mode: _scale(collections, order * used, needs.get(mode)) for mode, used in _USED.items()}
    score = dict(zip(FEATURES, (round(float(each), 4) for each in order), strict=True))
    return {"score": score, "scales": scales, "farther": farther}


def _needs(teaching: Mapping[str, Collection], across: Iterable[Collection], order: Array) -> tuple[float, float]:
    """Returns the least score of a good match, and what it needs less for each deviation of a lower mean.

    So that `_MARKED` of the questions with an answer are marked, at most `_MARKED_OF_GROUP` of a group, and
    `_RECOGNISED` of those off the topic in another language. Each of the two numbers changes the other.
    """
    groups = {
        group: [some for name, some in teaching.items() if _group(name) == group] for group in map(_group, teaching)
    }
    limits = [(_MARKED, _best_scores(teaching.values(), "answer", order))]
    limits += [(_MARKED_OF_GROUP, _best_scores(some, "answer", order)) for some in groups.values()]
    others = _best_scores(across, "other", order)
    of_others, lowers_of_others, shares_of_others = others[:, others[1] > 0]
    less = 0.0
    for _ in range(_ROUNDS):
        least = min(_quantile(scores + less * lowers, shares, limit) for limit, (scores, lowers, shares) in limits)
        less = _quantile((least - of_others) / lowers_of_others, shares_of_others, 1 - _RECOGNISED)
    return round(least, 4), round(less - float(order[0]), 4)


def _best_scores(collections: Iterable[Collection], kind: str, order: Array) -> Array:
    """Returns three rows for the questions of a kind: their best scores if the mean was not lower, how much lower it is
    for a text that lacks so many of the grams, and how much the question counts.
    """
    rows = []
    for some in collections:
        those = [one for one in some if one.kind == kind and len(one.features)]
        for one in those:
            scores = one.features @ order
            best = int(np.argmax(scores))
            rows.append((scores[best] - order[0] * one.lower, one.lower * (1 - one.grams[best]), 1 / len(those)))
    return np.array(rows).T


def _quantile(values: Array, shares: Array, quantile: float) -> float:
    """Returns the value below which so much of the shares is."""
    rising = np.argsort(values)
    reached = np.cumsum(shares[rising]) / shares.sum()
    return float(values[rising][int(np.searchsorted(reached, quantile))])


# The features that a search by both, or by one of them, has.
_USED: dict[SearchMode, Array] = {
    "both": np.array([1, 1, 1, 1, 1.0]),
    "words": np.array([0, 1, 1, 1, 1.0]),
    "vectors": np.array([1, 0, 0, 0, 1.0]),
}


def _order(collections: Sequence[Collection]) -> Array:
    """Returns the weights by which the right candidates of a question win against the others."""
    asked = [(one, 1 / len(some)) for some in collections for one in some if one.right.any() and not one.right.all()]
    lengths = np.array([len(one.features) for one, _ in asked])
    exists = np.arange(lengths.max()) < lengths[:, None]
    features, right = np.zeros((*exists.shape, len(FEATURES))), np.zeros(exists.shape, bool)
    features[exists] = np.concatenate([one.features for one, _ in asked])
    right[exists] = np.concatenate([one.right for one, _ in asked])
    importance, ridge = np.array([weight for _, weight in asked]), np.full(len(FEATURES), _RIDGE)
    return learned_weights(features, np.where(exists, 0.0, -np.inf), right, importance, ridge)


def _best(one: Asked, order: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Returns the score and the lead of the first results, and which are right."""
    scores = one.features @ order
    places = np.argsort(-scores, kind="stable")
    first, no_examples = places[:_RESULTS], one.features[:, -1] == 0
    ahead = leads([float(each) for each in scores[first]], scores[no_examples])
    return np.stack([scores[first], ahead], axis=1), one.right[first]


def _scale(collections: Sequence[Collection], order: Array, least: float | None) -> dict[str, float]:
    """Returns the logistic regression over scores up to `least` and leads.

    Without `least` it is the score that all but `_MARKED` of the questions with an answer reach.
    """
    rows, right, weights, answered, shares_of_answered = [], [], [], [], []
    for some in collections:
        with_answer = sum(one.kind == "answer" for one in some)
        share_with = (1 - _WITHOUT_ANSWER) / max(1, with_answer)
        share_without = _WITHOUT_ANSWER / max(1, len(some) - with_answer)
        for one in some:
            if not len(one.features):
                continue
            results, are_right = _best(one, order)
            # As if all of the question was known, so that a scale means the same in every language.
            results[:, 0] -= order[0] * one.lower
            rows.append(results)
            right.append(are_right)
            share = share_with if one.kind == "answer" else share_without
            weights.append(np.full(len(results), share))
            if one.kind == "answer":
                answered.append(results[0, 0])
                shares_of_answered.append(share)
    if least is None:
        least = _quantile(np.array(answered), np.array(shares_of_answered), _MARKED)
    features = np.minimum(np.concatenate(rows), (least, np.inf))
    found = _logistic(features, np.concatenate(right).astype(float), np.concatenate(weights))
    names = ("constant", "score", "lead", "least")
    return {name: round(float(each), 4) for name, each in zip(names, (*found, least), strict=True)}


def _logistic(rows: Array, right: Array, weights: Array) -> Array:
    """Returns constant and weights of a logistic regression, by Newton's method."""
    rows, found = np.column_stack([np.ones(len(rows)), rows]), np.zeros(rows.shape[1] + 1)
    weights = weights / weights.mean()
    for _ in range(100):
        shares = 1 / (1 + np.exp(-rows @ found))
        curve = (rows * (weights * shares * (1 - shares))[:, None]).T @ rows + _RIDGE * np.eye(len(found))
        step = np.linalg.solve(curve, rows.T @ (weights * (right - shares)) - _RIDGE * found)
        found = found + step * min(1.0, 2 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    return found


_COLUMNS = (
    "collection",
    "questions",
    "hit@1",
    "hit@5",
    "hit@1 of few words",
    "shown first",
    "right first",
    "error",
    "at least",
    "wrong of ≥ .9",
    "marked",
    "near marked",
    "others marked",
    "AUC near",
    "AUC others",
)


def _figures(recorded: Mapping[str, Collection], learned_without: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each collection, judged by weights that were learned from the other groups."""
    table = _table_of("Each collection, its group left out of the learning", _COLUMNS)
    pooled = []
    for name, some in recorded.items():
        table.add_row(name, *_row(some, learned_without[name], resampled=True))
        pooled.append(_shown_and_right(some, learned_without[name]))
    error = _error(*map(np.concatenate, zip(*pooled, strict=True)))
    table.caption = f"`error` of all together: {error:.3f}. `at least`: the lower end of its 95 % interval (bootstrap)."
    return table


def _ablation(recorded: Mapping[str, Collection]) -> Table:
    """The means of the collections if a feature is left out."""
    columns = ("without", *_COLUMNS[2:4], *_COLUMNS[-2:])
    table = _table_of("Means of the collections, each with its group left out of the learning", columns)
    for feature in ("nothing", *FEATURES):
        kept = np.array([name != feature for name in FEATURES], dtype=float)
        those = {name: [replace(one, features=one.features * kept) for one in some] for name, some in recorded.items()}
        learned_without = _left_out(those)
        rows = [_row(some, learned_without[name]) for name, some in those.items()]
        means = [np.mean([float(row[at]) for row in rows if row[at]]) for at in (1, 2, -2, -1)]
        table.add_row(feature, *(f"{mean:.4f}" for mean in means))
    return table


def _table_of(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def _by_family(recorded: Mapping[str, Collection], without_group: Mapping[str, Mapping[str, Any]]) -> Table:
    """The means of the collections of a language family, without their groups and without their family."""
    shown = ("hit@1", "hit@5", "error", "marked", "AUC near", "AUC others")
    columns = ("family", "collections", *(f"{name}{of}" for name in shown for of in ("", " *")))
    table = _table_of("Means of the collections, their groups left out; with *, their language family", columns)
    ways = [without_group, _left_out(recorded, _family)]
    for family in dict.fromkeys(map(_family, filter(_teaches, recorded))):
        names = [name for name in recorded if _family(name) == family and _teaches(name)]
        rows = [[_row(recorded[name], weights[name]) for name in names] for weights in ways]
        cells = [[row[_COLUMNS.index(name) - 1] for row in some] for name in shown for some in rows]
        means = ([float(cell) for cell in some if cell] for some in cells)
        table.add_row(family, str(len(names)), *(f"{np.mean(some):.3f}" if some else "" for some in means))
    return table


def _across(recorded: Mapping[str, Collection], learned_without: Mapping[str, Mapping[str, Any]]) -> Table:
    """Questions of a language, by column, over pages of another, by row: right first, marked, others marked."""
    table = _table_of("Pages by row, questions by column: right first / marked / others marked", ["pages", *_XQUAD])
    for pages in (name for name in _XQUAD if f"{name} {_ACROSS}" in recorded):
        name = f"{pages} {_ACROSS}"
        rows = {
            language: _row(those, learned_without[name])
            for language in _XQUAD
            if (those := [one for one in recorded[name] if one.language == language])
        }
        cells = [
            " / ".join(rows[language][_COLUMNS.index(column) - 1] for column in ("hit@1", "marked", "others marked"))
            if language in rows
            else ""
            for language in _XQUAD
        ]
        table.add_row(pages, *cells)
    return table


def _family(name: str) -> str:
    language = name.partition(" ")[0]
    return _FAMILIES.get(language, language)


def _left_out(recorded: Mapping[str, Collection], group_of: Callable[[str], str] = _group) -> dict[str, dict[str, Any]]:
    """Returns for each collection the weights that were learned without its group."""
    groups = {name: group_of(name) for name in recorded}
    teaching, across = _teaching(recorded), _of_others(recorded, "")
    of_group = {
        group: learn({name: some for name, some in teaching.items() if groups[name] != group}, across)
        for group in sorted(set(groups.values()))
    }
    learned_without = {name: of_group[group] for name, group in groups.items()}
    for name, weights in learned_without.items():
        if name.endswith(_ACROSS):
            order = np.array([weights["score"][feature] for feature in FEATURES])
            others = {other: some for other, some in teaching.items() if groups[other] != groups[name]}
            least, farther = _needs(others, _of_others(recorded, name), order)
            scales = {**weights["scales"], "both": {**weights["scales"]["both"], "least": least}}
            learned_without[name] = {**weights, "scales": scales, "farther": farther}
    return learned_without


def _of_others(recorded: Mapping[str, Collection], name: str) -> list[Collection]:
    """Returns the collections of questions in other languages, without one."""
    return [some for other, some in recorded.items() if other.endswith(_ACROSS) and other != name]


def _scale_of(weights: Mapping[str, Any], one: Asked) -> Scale:
    both, vectors = (learned_scale(weights["scales"][mode]) for mode in ("both", "vectors"))
    return both.towards(vectors, one.by_meaning)


def _beyond_need(weights: Mapping[str, Any], one: Asked, order: Array) -> float:
    """What the best result has beyond what a good match needs."""
    best = int(np.argmax(one.features @ order))
    farther = one.lower * (weights["farther"] - (order[0] + weights["farther"]) * one.grams[best])
    return float(one.features[best] @ order) - weights["scales"]["both"]["least"] + farther


def _row(some: Collection, weights: Mapping[str, Any], *, resampled: bool = False) -> list[str]:
    order = np.array([weights["score"][name] for name in FEATURES])
    judged = [(one, *_best(one, order)) for one in some if len(one.features)]
    answered = [(results, right) for one, results, right in judged if one.kind == "answer"]
    shown, right = _shown_and_right(some, weights)
    sure = right[shown >= 0.9]
    scores = {
        kind: np.array([_beyond_need(weights, one, order) for one, _, _ in judged if one.kind == kind])
        for kind in ("answer", "near", "other")
    }
    marked = {kind: f"{np.mean(those < 0):.3f}" if len(those) else "" for kind, those in scores.items()}
    found = sum(one.kind == "answer" for one in some)
    return [
        str(len(some)),
        f"{right.sum() / found:.3f}",
        f"{sum(right.any() for _, right in answered) / found:.3f}",
        f"{np.mean([right[0] for _, right in _of_few_words(judged)]):.3f}",
        f"{shown.mean():.3f}",
        f"{right.mean():.3f}",
        f"{_error(shown, right):.3f}",
        f"{_least_error(shown, right):.3f}" if resampled else "",
        f"{1 - sure.mean():.3f}" if len(sure) else "",
        *(marked[kind] for kind in ("answer", "near", "other")),
        *(_area(scores["answer"], scores[kind]) for kind in ("near", "other")),
    ]


def _shown_and_right(some: Collection, weights: Mapping[str, Any]) -> tuple[Array, Array]:
    """The similarities of the first results for the questions with an answer, and which of these results are right."""
    order = np.array([weights["score"][name] for name in FEATURES])
    first = [(one, *_best(one, order)) for one in some if len(one.features) and one.kind == "answer"]
    shown = [_scale_of(weights, one).similarity(*results[0]) for one, results, _ in first]
    return np.array(shown), np.array([right[0] for _, _, right in first], dtype=float)


def _error(shown: Array, right: Array) -> float:
    """The mean difference between shown and right over five bins of equal size."""
    bins = np.array_split(np.argsort(shown), 5)
    return float(np.mean([abs(shown[one].mean() - right[one].mean()) for one in bins if len(one)]))


def _least_error(shown: Array, right: Array) -> float:
    """The lower end of the error's 95 % interval, from 500 samples with replacement."""
    samples = np.random.default_rng(1).integers(len(shown), size=(500, len(shown)))
    return float(np.quantile([_error(shown[sample], right[sample]) for sample in samples], 0.025))


def _of_few_words(judged: Sequence[tuple[Asked, Array, NDArray[np.bool_]]]) -> list[tuple[Array, NDArray[np.bool_]]]:
    """The first results for the third of the questions whose right candidate has the smallest share of their words."""
    rows = [(one.features[one.right, 1].max(), results, right) for one, results, right in judged if one.right.any()]
    rows.sort(key=lambda row: float(row[0]))
    return [(results, right) for _, results, right in rows[: max(1, len(rows) // 3)]]


def _area(answered: Array, others: Array) -> str:
    """The area under the curve: how often a question with an answer has the higher score."""
    return f"{np.mean(answered[:, None] > others[None, :]):.3f}" if len(others) else ""


def _provenance(recorded: Mapping[str, Collection]) -> dict[str, Any]:
    return {
        "command": "python -m benchmarks.learning --data DIR --textbook DIR --documentation DIR --write",
        "embedding_model": NAME,
        "questions": {name: len(some) for name, some in recorded.items()},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--textbook", type=Path, required=True)
    parser.add_argument("--documentation", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    main(given.data, given.textbook, given.documentation, write=given.write)
