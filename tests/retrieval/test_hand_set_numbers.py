"""The numbers between a text and its similarity that people chose. Those that were learned are in `weights.json`.

A new one fails here until it stands in the list with its reason. Limits of size and time are not in it.
"""

import ast
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import sakuin

MODULES = (
    "language/indexing",
    "language/impacts",
    "language/questions/slots",
    "retrieval/ranking",
    "retrieval/proximity",
)
MODULES += ("retrieval/passages", "retrieval/weights")
CHOSEN: dict[str, dict[float, str]] = {
    "language/indexing": {
        4.0: "title and `learns` say what a text is about; BM25F's figure for fields",
        600: "terms of a usual explanation, so that texts do not change each other's weights",
    },
    "language/impacts": {0.75: "BM25's usual share of the length"},
    "language/questions/slots": {},
    "retrieval/ranking": {0.5: "BM25's inverse document frequency"},
    "retrieval/proximity": {},
    "retrieval/passages": {
        300: "measured: docs/measurements/quality.md",
        3: "three wide characters say as much as two thirds more Latin letters; passages overlap by a third, and words "
        "are close within one",
    },
    "retrieval/weights": {
        0.2: "more than the one in nine of the marked questions that has an answer; what is marked is below it",
        0.05: "of twenty results so improbable one answers",
        100: "texts whose mean is certain to a tenth of their deviation",
    },
}
# Sizes of caches and terms, and the bounds of an exponent.
NO_CHOICE = {0, 1, 2, 12, 256, 50.0}
LIMITS = re.compile("MOST_|LONGEST_|COMPARED|NEAREST|_LONGEST|round")


def numbers(module: str) -> set[float]:
    tree = ast.parse((Path(sakuin.__file__).parent / f"{module}.py").read_text("utf-8"))
    found = set()
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return) and not LIMITS.search(ast.unparse(statement)):
            found |= {
                each.value
                for each in ast.walk(statement)
                if isinstance(each, ast.Constant) and type(each.value) in (int, float)
            }
    return found - NO_CHOICE


def test_each_number_that_was_not_learned_has_a_reason() -> None:
    assert {module: numbers(module) for module in MODULES} == {module: set(CHOSEN[module]) for module in MODULES}


def learned() -> dict[str, Any]:
    weights: dict[str, Any] = json.loads(files("sakuin.retrieval").joinpath("weights.json").read_text("utf-8"))
    return weights


def test_what_is_known_of_models_is_little_and_all_else_is_learned() -> None:
    weights = learned()
    assert weights.pop("models").keys() == {"multilingual-e5-small", "another"}
    assert weights.keys() == {"score", "scales", "farther", "doubts", "provenance"}
    # The aim is five.
    assert sum(map(len, CHOSEN.values())) <= 9


def test_the_explanation_has_the_learned_numbers() -> None:
    weights, scale = learned(), learned()["scales"]["both"]
    numbers = [*weights["score"].values(), *weights["doubts"].values(), weights["farther"]]
    numbers += [scale[name] for name in ("constant", "score", "lead", "least", "most")]
    text = (Path(__file__).parents[2] / "docs/explanation/how-a-question-is-answered.md").read_text("utf-8")
    shown = {f"{abs(number):g}".removeprefix("0") for number in numbers}
    assert not shown - {*re.findall(r"\d*\.?\d+", text)}
