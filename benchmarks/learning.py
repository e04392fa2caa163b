"""Learns the weights of the ranking from public question sets, and says how good they are where they did not learn.

`python -m benchmarks.learning --data DIR [--textbook DIR] [--documentation DIR] [--authored DIR] [--learns DIR]
[--recorded] [--write]`. The first has folders as `benchmarks.general` reads them; a textbook has folders by
language with `site/` and `definitions.jsonl` (`query`, `gold`); documentation has the pages of each site in
`benchmarks/documentation`; authored pages are those of `pages.jsonl` and `pupils.jsonl` in `tests/labels`. The short
texts in `tests/general`, and the samples are collections, too. With `NAME.yml` in the folder of `--learns`, pages are a
second collection with these `learns`, whose author knows no question. The development half of the labels teaches, the
held-out half judges.
The features of each collection are recorded below `build/learning` at the first run; delete a file there to record it
again. With `--recorded` there are no other collections. `--write` writes `weights.json`.

Every collection weighs the same, and is judged by weights that were learned without its group: translations of the same
articles are one. Questions in another language teach nothing (docs/explanation/how-a-question-is-answered.md).
"""

import argparse
import json
import math
import pickle
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.language.model import AnalyzedQuery
from sakuin.retrieval import weights as learned
from sakuin.retrieval.index_version import ANALYZER
from sakuin.retrieval.ranking import Ranked, leads
from sakuin.retrieval.vectors import SearchMode
from sakuin.retrieval.weights import LEAST_SIMILARITY, Scale, learned_scale
from sakuin_local.embeddings.model import NAME
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from benchmarks.general import VECTORS, holds_answer, read_articles, read_lines, read_questions, searched_table
from benchmarks.near_misses import EXAMPLE, EXCHANGED, Exchange, Question
from tests.general.cached_model import CachedModel
from tests.general.library import indexed

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "tests" / "general"
QUESTIONS = ROOT / "benchmarks" / "documentation"
RECORDED = ROOT / "build" / "learning"
FEATURES = ("meaning", "inner", "words", "covered", "scattered", "example", "section")
_EXAMPLE, _SECTION = FEATURES.index("example"), FEATURES.index("section")
# Of each question so many candidates are recorded, and so many results are judged.
_CANDIDATES, _RESULTS = 50, 5
# Of a set with at least twice as many articles, every n-th is taken, so that so many remain at least.
_ARTICLES = 65
# So much do the questions without an answer weigh in the probability.
_WITHOUT_ANSWER = 0.25
# What a result may lack of a question, each with a weight of its own.
DOUBTS = ("number", "code", "name", "absent_number", "absent_code", "absent_name")
# A lead beyond the likeliest of these says nothing more.
_LEADS = (2.0, 3.0, 5.0, 8.0)
# So many of the questions with an answer may be marked as `no_good_match`, and so many in each group of collections.
_MARKED, _MARKED_OF_GROUP = 0.03, 0.05
# So many of the questions off the topic, in another language than the pages, are to be marked.
_RECOGNISED = 0.98
# Until then the need of a good match does not change any more, and what a lead counts.
_ROUNDS, _SCALES = 12, 3
# Keeps the weights finite.
_RIDGE = 1e-3
# The slope at which the learning ends.
_TOLERANCE = 1e-8
# Collections that are judged and teach nothing: of a textbook one section is right, where its summary says the same;
# and questions in other languages than the pages.
_TEXTBOOK, _ACROSS = "textbook", "across"
_HELD_OUT, _EXERCISES, _DOCUMENTATION = "held-out", "exercises", "documentation"
_JUDGED = (_TEXTBOOK, _ACROSS, _HELD_OUT, _EXERCISES)
_PROVENANCE = {
    "command": "python -m benchmarks.learning --data DIR --documentation DIR --authored DIR --learns DIR --write",
    "embedding_model": NAME,
    "analyzer": ANALYZER,
}
# The parallel sets, in twelve languages.
_XQUAD = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
# The languages of pages that are asked in all others, of five scripts.
_ASKED_ACROSS = ["ar", "de", "en", "hi", "zh"]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question with a row of FEATURES for each candidate, and which candidates are right.

    `kind`: `answer` if the index has one, `near` if it has the article without the paragraph, `other` if neither, or
    those of `benchmarks.near_misses`. `doubts`: what the best candidate lacks of the question.
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
    doubts: frozenset[str] = frozenset()


Collection = list[Asked]


def main(folders: argparse.Namespace) -> None:
    """Records what is not recorded, learns with each group left out, prints the figures, and learns from all."""
    folder, file = RECORDED / folders.data.resolve().name, Path(learned.__file__).with_name("weights.json")
    with TemporaryDirectory() as copy:
        data = _smaller(folders.data, Path(copy))
        collections = _collections(data, folders.textbook, folders.documentation, folders.authored, folders.learns)
        files = ((name, folder / f"{name}.pickle", record) for name, record in collections)
        recorded = {
            name: _recorded(file, record) for name, file, record in files if file.exists() or not folders.recorded
        }
    console, before = Console(width=160), json.loads(file.read_text("utf-8"))

    def learn_from(teaching: Mapping[str, Collection]) -> dict[str, Any]:
        score = _score(list(teaching.values()))
        counts = {name: len(some) for name, some in recorded.items()}
        provenance = {"provenance": _PROVENANCE | {"questions": counts}}
        return before | learn(teaching, _of_others(recorded, ""), score) | provenance

    learned_without = _left_out(recorded, learn_from)
    console.print(_figures(recorded, learned_without))
    weights = learn_from(_teaching(recorded))
    console.print_json(json.dumps(weights))
    if folders.write:
        file.write_text(json.dumps(weights, ensure_ascii=False, indent=2) + "\n", "utf-8")


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


def _collections(
    data: Path, textbooks: Path | None, sites: Path | None, authored: Path | None, learns: Path | None
) -> Iterator[tuple[str, Callable[[], Collection]]]:
    model = CachedModel.in_file(VECTORS)
    for folder in sorted(file.parent for file in data.glob("*/queries.jsonl")):
        name = folder.name
        yield f"{name} pages", partial(_pages, folder / "site", _of_pages(data, name), model)
        if (folder / "table.json").exists():
            yield f"{name} parts", partial(_parts, data, name, model)
            yield f"{name} Table", partial(_table, data, name, model)
    languages = [name for name in _XQUAD if (data / name).exists()]
    for name in filter(languages.__contains__, _ASKED_ACROSS):
        yield f"{name} {_ACROSS}", partial(_parts, data, name, model, [other for other in languages if other != name])
    for folder in sorted(file.parent for file in textbooks.glob("*/definitions.jsonl")) if textbooks else ():
        asked = [(row["query"], row["gold"], "answer", "") for row in read_lines(folder / "definitions.jsonl")]
        yield f"{folder.name} textbook", partial(_pages, folder / "site", asked, model)
        yield f"{folder.name} {_EXERCISES}", partial(_exercises, folder, model)
    for folder in sorted(file.parent for file in OWN.glob("*/queries.jsonl")):
        yield f"{folder.name} short texts", partial(_pages, folder / "site", _of_pages(OWN, folder.name), model)
    labelled = [
        (f"{file.stem} documentation", sites / file.stem, _of_documentation(file), "")
        for file in sorted(QUESTIONS.glob("*.toml"))
        if sites
    ]
    of_authored = [(name, authored, [file]) for name, file in (("authored", "pages"), ("pupils", "pupils")) if authored]
    of_mathematics = [("mathematics", ROOT / "samples", ["knowledge", "paraphrases", "near_misses"])]
    for name, site, files in [*of_mathematics, *of_authored]:
        halves = {kind: _of_labels(files, half) for half, kind in (("dev", "pages"), (_HELD_OUT, _HELD_OUT))}
        labelled += [(f"{name} {kind}", site, asked, "school-mathematics") for kind, asked in halves.items()]
    for name, site, asked, vocabulary in labelled:
        yield name, (ask := partial(_pages, site, asked, model, vocabulary=vocabulary))
        if learns and (file := learns / f"{name.partition(' ')[0]}.yml").exists():
            yield f"{name}, learns", partial(ask, learns=file)


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


def _of_labels(files: Sequence[str], half: str) -> list[Question]:
    """Returns the labelled questions of a half; those of files without halves are in the first."""
    rows = [row for file in files for row in read_lines(ROOT / "tests" / "labels" / f"{file}.jsonl")]
    return [
        (row["query"], gold, "answer" if gold else "other" if row.get("category") == "off-topic" else "near", "")
        for row, gold in ((row, row.get("gold", [])) for row in rows)
        if row.get("half", "dev") == half and row.get("site", "samples") == "samples"
    ]


def _exercises(folder: Path, model: CachedModel) -> Collection:
    """The exercises of a textbook, of which any section of the page answers."""
    anchors = {
        file.stem: [f"{file.stem}#{one.anchor}" for one in read_page(file.read_bytes()).explanations]
        for file in (folder / "site").glob("*.html")
    }
    rows = [row for row in read_lines(folder / "exercises.jsonl") if row["page"] in anchors]
    asked = [(row["query"], anchors[row["page"]], "answer", "") for row in rows]
    return _pages(folder / "site", asked, model, are_exercises=True)


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


def _pages(
    site: Path,
    asked: Iterable[Question],
    model: CachedModel,
    *,
    vocabulary: str = "",
    learns: Path | None = None,
    are_exercises: bool = False,
) -> Collection:
    with indexed(site, model, vocabulary=vocabulary, learns=learns) as library:
        search = library.explanations.searches.knowledge_search()

        def ask(question: Question) -> tuple[Asked, AnalyzedQuery]:
            query, right, kind, language = question
            ranked = search.ranked_matches(query, limit=_CANDIDATES)
            lowers = not ranked.understood.wants_example
            candidates = [(m.ranked, m.id in right, lowers and m.type == "example") for m in ranked.matches]
            return _asked(kind, candidates, language, ranked.lack.doubts), ranked.understood

        found = [(question, *ask(question)) for question in asked]
        understood = [(question, analyzed) for question, _, analyzed in found]
        exchange = Exchange(library.texts, understood, are_exercises or bool(vocabulary))
        return [*(one for _, one, _ in found), *(ask(question)[0] for question in exchange.near_misses())]


def _table(data: Path, name: str, model: CachedModel) -> Collection:
    with searched_table(read_articles(data, name), model) as explanation:
        found = []
        for row in _some(read_questions(data, name)):
            explained = explanation(row["query"])
            places = explained.candidates[:_CANDIDATES]
            right = [holds_answer(row, at.chunk.json_pointer, at.chunk.char_start, at.chunk.char_end) for at in places]
            candidates = [(at.ranked, is_right, False) for at, is_right in zip(places, right, strict=True)]
            found.append(_asked("answer", candidates, doubts=explained.lack.doubts))
        return found


def _asked(
    kind: str, candidates: Sequence[tuple[Ranked, bool, bool]], language: str = "", doubts: frozenset[str] = frozenset()
) -> Asked:
    """Returns a question with its candidates: whether each is right, and an example that nobody asked for."""
    rows = [
        (each.z, each.inner, each.words.share, each.words.covered, each.words.scattered, is_example, each.behind)
        for each, _, is_example in candidates
    ]
    features = np.array(rows, dtype=float).reshape(len(rows), len(FEATURES))
    right = np.array([is_right for _, is_right, _ in candidates], bool)
    grams = np.array([each.words.grams for each, _, _ in candidates])
    scales = [each.scale for each, _, _ in candidates[:1]] or [Scale(0, 0, 0, 0)]
    return Asked(kind, features, right, grams, scales[0].by_meaning, scales[0].lower, language, doubts)


def _group(name: str) -> str:
    language, _, kind = name.removesuffix(", learns").partition(" ")
    if kind in (_TEXTBOOK, "short texts", _HELD_OUT, _EXERCISES):
        return kind
    # Translations of a book are one group, too, and both sets of questions to the authored pages.
    if kind == _DOCUMENTATION:
        return language.partition("-")[0]
    return "XQuAD" if language in _XQUAD else language.replace("pupils", "authored")


def _teaches(name: str) -> bool:
    return name.removesuffix(", learns").partition(" ")[2] not in _JUDGED


def _teaching(recorded: Mapping[str, Collection]) -> dict[str, Collection]:
    """Returns the collections that teach, without their questions in another language."""
    return {name: [one for one in some if not one.language] for name, some in recorded.items() if _teaches(name)}


def learn(
    teaching: Mapping[str, Collection], across: Sequence[Collection], score: Mapping[str, float]
) -> dict[str, Any]:
    """Returns the scales over the weights of the score, with these, as `weights.json` has them.

    The probability is learned once from pages that have `learns` of two sources. `across` have the questions in other
    languages.
    """
    collections = [some for name, some in teaching.items() if f"{name}, learns" not in teaching]
    order = np.array([score[name] for name in FEATURES])
    both: dict[str, float] = {}
    for _ in range(_SCALES):
        least, farther = _needs(teaching, across, order, both)
        learned, doubts = _scale(collections, order, least)
        both = {**learned, "ahead": round(learned["lead"] / learned["score"], 4)}
    least, farther = _needs(teaching, across, order, both)
    both["least"] = least
    scales = {mode: _scale(collections, order * used, None)[0] for mode, used in _USED.items() if mode != "both"}
    # By one leg alone nothing is surer than by both.
    for scale in scales.values():
        surest = both["constant"] + both["score"] * both["least"] + both["lead"] * both["most"]
        lead = (surest - scale["constant"] - scale["score"] * scale["least"]) / scale["lead"]
        scale["most"] = min(scale["most"], math.floor(1000 * lead) / 1000)
    return {"score": score, "scales": {"both": both, **scales}, "farther": farther, "doubts": doubts}


def _needs(
    teaching: Mapping[str, Collection], across: Iterable[Collection], order: Array, scale: Mapping[str, float]
) -> tuple[float, float]:
    """Returns the least score of a good match, and what it needs less for each deviation of a lower mean.

    So that `_MARKED` of the questions with an answer are marked, at most `_MARKED_OF_GROUP` of a group, and
    `_RECOGNISED` of those off the topic in another language. Each of the two numbers changes the other. Documentation
    has no limit: a third of its questions have other words than its texts, and of those below the limit that it would
    set one in twenty has a right result first.
    """
    limited = [name for name in teaching if _DOCUMENTATION not in name]
    groups = {group: [teaching[name] for name in limited if _group(name) == group] for group in map(_group, limited)}
    limits = [(_MARKED, _best_scores([teaching[name] for name in limited], "answer", order, scale))]
    limits += [(_MARKED_OF_GROUP, _best_scores(some, "answer", order, scale)) for some in groups.values()]
    others = _best_scores(across, "other", order, scale)
    of_others, lowers_of_others, shares_of_others = others[:, others[1] > 0]
    less = 0.0
    for _ in range(_ROUNDS):
        least = min(_quantile(scores + less * lowers, shares, limit) for limit, (scores, lowers, shares) in limits)
        less = _quantile((least - of_others) / lowers_of_others, shares_of_others, 1 - _RECOGNISED)
    return round(least, 4), round(less - float(order[0]), 4)


def _best_scores(collections: Iterable[Collection], kind: str, order: Array, scale: Mapping[str, float]) -> Array:
    """Returns three rows for the questions of a kind: their best scores if the mean was not lower, how much lower it is
    for a text that lacks so many of the grams, and how much the question counts.
    """
    rows = []
    for some in collections:
        those = [one for one in some if one.kind == kind and len(one.features)]
        for one in those:
            score, best = _strength(one, order, scale), int(np.argmax(one.features @ order))
            rows.append((score - order[0] * one.lower, one.lower * (1 - one.grams[best]), 1 / len(those)))
    return np.array(rows).T


def _strength(one: Asked, order: Array, scale: Mapping[str, float]) -> float:
    """Returns the score of the best result with what its lead adds: `Scale.strength`."""
    score, lead = _best(one, order)[0][0]
    return float(score + scale.get("ahead", 0.0) * max(0.0, min(lead, scale.get("most", 0.0))))


def _quantile(values: Array, shares: Array, quantile: float) -> float:
    """Returns the value below which so much of the shares is."""
    rising = np.argsort(values)
    reached = np.cumsum(shares[rising]) / shares.sum()
    return float(values[rising][int(np.searchsorted(reached, quantile))])


# The features that a search by both, or by one of them, has.
_USED: dict[SearchMode, Array] = {
    "both": np.array([1, 1, 1, 1, 1, 1, 1.0]),
    "words": np.array([0, 0, 1, 1, 1, 1, 1.0]),
    "vectors": np.array([1, 1, 0, 0, 0, 1, 1.0]),
}


def _score(collections: Sequence[Collection]) -> dict[str, float]:
    """Returns the weights of the score: the right candidates win against the others most probably."""
    asked = [(one, 1 / len(some)) for some in collections for one in some if one.right.any() and not one.right.all()]
    lengths = np.array([len(one.features) for one, _ in asked])
    exists = np.arange(lengths.max()) < lengths[:, None]
    every, right = np.zeros((*exists.shape, len(FEATURES))), np.zeros(exists.shape, bool)
    every[exists] = np.concatenate([one.features for one, _ in asked])
    right[exists] = np.concatenate([one.right for one, _ in asked])
    importance = np.array([weight for _, weight in asked])

    # McFadden: Conditional logit analysis of qualitative choice behavior, 1974.
    def loss(values: Array) -> tuple[float, Array]:
        scores = np.where(exists, every @ values, -np.inf)
        of_right = np.where(right, scores, -np.inf)
        surprise = importance @ (logsumexp(scores, axis=1) - logsumexp(of_right, axis=1))
        slope = importance @ np.einsum("qc,qcf->qf", softmax(scores, axis=1) - softmax(of_right, axis=1), every)
        return surprise + _RIDGE / 2 * values @ values, slope + _RIDGE * values

    values = minimize(loss, np.zeros(len(FEATURES)), jac=True, tol=_TOLERANCE).x
    return {name: round(float(value), 4) for name, value in zip(FEATURES, values, strict=True)}


def _best(one: Asked, order: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Returns the score and the lead of the first results, and which are right."""
    scores = one.features @ order
    places = np.argsort(-scores, kind="stable")
    first, rivals = places[:_RESULTS], (one.features[:, _EXAMPLE] == 0) & (one.features[:, _SECTION] < 1)
    ahead = leads([float(each) for each in scores[first]], scores[rivals])
    return np.stack([scores[first], ahead], axis=1), one.right[first]


def _shares(collections: Sequence[Collection]) -> list[list[float]]:
    """Returns how much each question counts in the probability: those with an answer alike in every collection.

    Of those without, each of four kinds counts as much, in all collections together: near, other, what is exchanged for
    something that is nowhere, and for something elsewhere.
    """
    counts = Counter(one.kind for some in collections for one in some)
    of_kind = dict.fromkeys(("near", "other"), _WITHOUT_ANSWER / 4)
    of_kind |= {kind: _WITHOUT_ANSWER / 2 / len(EXCHANGED) for kind in EXCHANGED}
    shares = []
    for some in collections:
        answered = max(1, sum(one.kind == "answer" for one in some))
        of_answered = {"answer": (1 - _WITHOUT_ANSWER) / len(collections) / answered}
        of_others = {kind: share / counts[kind] for kind, share in of_kind.items() if counts[kind]}
        shares.append([(of_answered | of_others).get(one.kind, 0.0) for one in some])
    return shares


def _scale(
    collections: Sequence[Collection], order: Array, least: float | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the logistic regression over scores up to `least`, leads up to the likeliest bound, and doubts.

    Without `least` it is the score that all but `_MARKED` of the questions with an answer reach.
    """
    rows, right, weights, answered, shares_of_answered = [], [], [], [], []
    for some, shares_of_questions in zip(collections, _shares(collections), strict=True):
        for one, share in zip(some, shares_of_questions, strict=True):
            if not len(one.features) or not share:
                continue
            results, are_right = _best(one, order)
            # As if all of the question was known, so that a scale means the same in every language.
            results[:, 0] -= order[0] * one.lower
            doubts = np.tile([-float(name in one.doubts) for name in DOUBTS], (len(results), 1))
            rows.append(np.hstack([results, doubts]))
            right.append(are_right)
            weights.append(np.full(len(results), share))
            if one.kind == "answer":
                answered.append(results[0, 0])
                shares_of_answered.append(share)
    if least is None:
        least = _quantile(np.array(answered), np.array(shares_of_answered), _MARKED)
    every, are_right, shares = np.concatenate(rows), np.concatenate(right).astype(float), np.concatenate(weights)
    of_leads = (
        (*_logistic(np.minimum(every, (least, most, *[np.inf] * len(DOUBTS))), are_right, shares), most)
        for most in _LEADS
    )
    _, found, most = min(of_leads, key=lambda each: each[0])
    names = ("constant", "score", "lead", "least", "most")
    scale = {name: round(float(each), 4) for name, each in zip(names, (*found[:3], least, most), strict=True)}
    return scale, {name: round(float(each), 4) for name, each in zip(DOUBTS, found[3:], strict=True)}


def _logistic(rows: Array, right: Array, weights: Array) -> tuple[float, Array]:
    """Returns the surprise, and constant and weights of a logistic regression: none of these is negative."""
    rows, weights = np.column_stack([np.ones(len(rows)), rows]), weights / weights.mean()

    def loss(values: Array) -> tuple[float, Array]:
        logits = rows @ values
        surprise = weights @ (np.logaddexp(0, logits) - right * logits) + _RIDGE / 2 * values @ values
        return surprise, rows.T @ (weights * (expit(logits) - right)) + _RIDGE * values

    bounds = [(None, None), *[(0.0, None)] * (rows.shape[1] - 1)]
    learned = minimize(loss, np.zeros(rows.shape[1]), jac=True, tol=_TOLERANCE, bounds=bounds)
    return float(learned.fun), np.asarray(learned.x)


def _left_out(
    recorded: Mapping[str, Collection], learn_from: Callable[[Mapping[str, Collection]], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Returns for each collection the weights that were learned without its group."""
    groups, teaching = {name: _group(name) for name in recorded}, _teaching(recorded)
    of_group = {
        group: learn_from({name: some for name, some in teaching.items() if groups[name] != group})
        for group in sorted(set(groups.values()))
    }
    learned_without = {name: of_group[group] for name, group in groups.items()}
    for name, weights in learned_without.items():
        if name.endswith(_ACROSS) and (across := _of_others(recorded, name)):
            order = np.array([weights["score"][feature] for feature in FEATURES])
            others = {other: some for other, some in teaching.items() if groups[other] != groups[name]}
            least, farther = _needs(others, across, order, weights["scales"]["both"])
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
    return _strength(one, order, weights["scales"]["both"]) - weights["scales"]["both"]["least"] + farther


@dataclass(frozen=True)
class Shown:
    """What an answer shows of a question: the similarity of the first result, whether that or one of the first five is
    right, and whether the question is marked.
    """

    kind: str
    similarity: float
    is_right: bool
    is_among_five: bool
    is_marked: bool


def _shown(some: Collection, weights: Mapping[str, Any]) -> list[Shown]:
    order = np.array([weights["score"][name] for name in FEATURES])
    answers = []
    for one in (one for one in some if len(one.features)):
        results, right = _best(one, order)
        doubt = sum(weights["doubts"][name] for name in one.doubts)
        probability = _scale_of(weights, one).similarity(*results[0], doubt)
        is_absent = any(name.startswith("absent") for name in one.doubts)
        is_marked = is_absent or _beyond_need(weights, one, order) < 0
        similarity = probability * LEAST_SIMILARITY if is_marked else max(probability, LEAST_SIMILARITY)
        answers.append(Shown(one.kind, similarity, bool(right[0]), bool(right.any()), is_marked))
    return answers


_COLUMNS = ("collection", "kind", "questions", "marked", "more than .5", "area")
_OF_ANSWERS = ("right first", "among five", "error", "wrong of ≥ .9")


def _figures(recorded: Mapping[str, Collection], learned_without: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each kind of question of each collection, judged by weights that were learned from the other groups.

    `area`: how often an answerable question has more similarity than one of the kind. `error`: the mean difference
    between shown and right over five bins of equal size. Of the results with at least .9 all kinds count.
    """
    table = Table(*_COLUMNS, *_OF_ANSWERS, title="Each collection, its group left out of the learning", box=None)
    pooled: list[Shown] = []
    for name, some in recorded.items():
        in_own_language = _shown([one for one in some if not one.language], learned_without[name])
        pooled += in_own_language
        _add_rows(table, name, in_own_language)
        _add_rows(
            table, f"{name}, other languages", _shown([one for one in some if one.language], learned_without[name])
        )
    _add_rows(table, "all", pooled)
    return table


def _add_rows(table: Table, name: str, answers: Sequence[Shown]) -> None:
    of_kind: dict[str, list[Shown]] = {}
    for one in answers:
        of_kind.setdefault(one.kind, []).append(one)
    answered = np.array([one.similarity for one in of_kind.get("answer", ())])
    sure = [not one.is_right for one in answers if one.similarity >= 0.9 and one.kind != EXAMPLE]
    for kind, some in of_kind.items():
        shown, right = (np.array([getattr(one, part) for one in some]) for part in ("similarity", "is_right"))
        figures = [np.mean([one.is_marked for one in some]), np.mean(shown > 0.5)]
        if kind == "answer":
            bins = np.array_split(np.argsort(shown), 5)
            error = np.mean([abs(shown[each].mean() - right[each].mean()) for each in bins if len(each)])
            wrong = np.mean(sure) if sure else 0.0
            figures += [0.5, right.mean(), np.mean([one.is_among_five for one in some]), error, wrong]
        elif len(answered):
            above = answered[:, None] > shown
            figures.append(np.mean(above + (answered[:, None] == shown) / 2))
        table.add_row(name, kind, str(len(some)), *(f"{each:.3f}" for each in figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--textbook", type=Path)
    parser.add_argument("--documentation", type=Path)
    parser.add_argument("--authored", type=Path)
    parser.add_argument("--learns", type=Path)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--write", action="store_true")
    main(parser.parse_args())
