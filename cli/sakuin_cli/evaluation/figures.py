"""The figures of a run, by ir-measures: of all questions and of each category, and the bounds that they miss."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Literal

from sakuin.errors import Invalid

from sakuin_cli.evaluation.run import DEPTH, Answer

WHOLE = "all"
RECOGNISED, REFUSED, CHANGED = "recognised", "refused", "changed"
# Means by measure, by group.
Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Bound:
    """A figure's least (`min`) or greatest (`max`) value, of all questions or of a category; `seen` is that of a run.

    `seen` is None if no question has the measure.
    """

    side: Literal["min", "max"]
    measure: str
    value: float
    group: str = WHOLE
    seen: float | None = None

    def __str__(self) -> str:
        of = "" if self.group == WHOLE else f"{self.group}:"
        seen = "no question has this measure" if self.seen is None else f"{self.seen:.3f}"
        return f"{of}{self.measure} {'≥' if self.side == 'min' else '≤'} {self.value:g}: {seen}"


def values(answers: Sequence[Answer], k: int) -> list[dict[str, float]]:
    """Returns the value of each measure for each answer; a measure that does not apply to it is left out.

    `recognised` is 1 for a question without an answer that has no good match, `refused` for another one that has none.
    `changed` is the share of correct words that were not searched as typed.
    """
    from ir_measures import RR, R, Success, iter_calc, nDCG

    found: list[dict[str, float]] = [{} if each.changed is None else {CHANGED: each.changed} for each in answers]
    # ir-measures orders results by score, and questions have names.
    gold = {str(at): dict.fromkeys(each.question.gold or (), 1) for at, each in enumerate(answers)}
    rankings = {
        str(at): {id: -float(place) for place, id in enumerate(each.ranking)} for at, each in enumerate(answers)
    }
    names = {R @ k: f"recall@{k}", Success @ k: f"hit@{k}", RR @ DEPTH: f"MRR@{DEPTH}", nDCG @ DEPTH: f"nDCG@{DEPTH}"}
    judged = {name: ids for name, ids in gold.items() if ids}
    for metric in iter_calc(list(names), judged, rankings) if judged else ():
        found[int(metric.query_id)][names[metric.measure]] = float(metric.value)
    for each, measured in zip(answers, found, strict=True):
        measured[RECOGNISED if each.question.gold == () else REFUSED] = float(each.opened is None)
    return found


def figures(answers: Sequence[Answer], k: int) -> Figures:
    """Returns the means of all questions, and of each category if there are several."""
    groups: dict[str, list[dict[str, float]]] = {WHOLE: []}
    for answer, measured in zip(answers, values(answers, k), strict=True):
        groups[WHOLE].append(measured)
        groups.setdefault(answer.question.category, []).append(measured)
    if len(groups) == 2:
        groups = {WHOLE: groups[WHOLE]}
    order = (f"recall@{k}", f"hit@{k}", f"MRR@{DEPTH}", f"nDCG@{DEPTH}", REFUSED, RECOGNISED, CHANGED)
    return {group: {"questions": len(each), **_means(each, order)} for group, each in groups.items()}


def _means(measured: Sequence[Mapping[str, float]], names: Iterable[str]) -> dict[str, float]:
    columns = {name: [each[name] for each in measured if name in each] for name in names}
    return {name: round(fsum(column) / len(column), 6) for name, column in columns.items() if column}


def bound_of(side: Literal["min", "max"], text: str) -> Bound:
    """Parses a bound such as `recall@5=0.85` or `kana-only:recall@5=0.92`; raises `Invalid`."""
    name, _, value = text.rpartition("=")
    group, _, measure = name.rpartition(":")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not measure or not isfinite(number):
        raise Invalid(f"{text} is no bound: write recall@5=0.85, or kana-only:recall@5=0.92 for a category")
    return Bound(side, measure, number, group or WHOLE)


def missed(bounds: Iterable[Bound], of: Figures) -> list[Bound]:
    """Returns the bounds that the figures miss; one of a measure without questions is missed, too."""
    found = []
    for bound in bounds:
        seen = of.get(bound.group, {}).get(bound.measure)
        sign = 1 if bound.side == "min" else -1
        # A mean may differ in the last bit.
        if seen is None or sign * (seen - bound.value) < -1e-9:
            found.append(Bound(bound.side, bound.measure, bound.value, bound.group, seen))
    return found
