"""Bounds of figures that a run must reach."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from sakuin.errors import Invalid

from sakuin_cli.evaluation.figures import WHOLE, Group

Side = Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class Floor:
    """A lower (`min`) or upper (`max`) bound of a measure, for all questions or for one group."""

    side: Side
    measure: str
    value: float
    group: str = WHOLE

    def __str__(self) -> str:
        of = "" if self.group == WHOLE else f"{self.group}:"
        return f"{of}{self.measure} {'≥' if self.side == 'min' else '≤'} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Missed:
    """A bound that a run misses; `seen` is None if no question has the measure."""

    floor: Floor
    seen: float | None

    def __str__(self) -> str:
        return f"{self.floor}: {'no question counts for it' if self.seen is None else f'{self.seen:.3f}'}"


def floor_of(side: Side, text: str) -> Floor:
    """Parses `recall@5=0.85` or `kana-only:recall@5=0.92`; raises `Invalid` for anything else."""
    name, _, value = text.rpartition("=")
    return _floor(side, name, value)


def floors_in(text: str) -> list[Floor]:
    """Parses `{"min": {"recall@5": 0.85}, "max": {"refused": 0.02}}`; raises `Invalid` for anything else."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Invalid(f"The gate is no JSON: {error}") from error
    sides: tuple[Side, ...] = ("min", "max")
    if not isinstance(document, dict) or not set(document) <= set(sides):
        raise Invalid('A gate is an object with "min" and "max": {"min": {"recall@5": 0.85}, "max": {"refused": 0.02}}')
    floors = []
    for side in sides:
        bounds = document.get(side, {})
        if not isinstance(bounds, dict):
            raise Invalid(f'"{side}" of a gate is an object of measures: {{"recall@5": 0.85}}')
        floors += [_floor(side, name, value) for name, value in bounds.items()]
    return floors


def missed(floors: Iterable[Floor], groups: Sequence[Group]) -> list[Missed]:
    """Returns the bounds that the figures miss, including bounds of measures that no question has."""
    figures: Mapping[str, Mapping[str, Any]] = {group.name: group.figures for group in groups}
    failed = []
    for floor in floors:
        estimate = figures.get(floor.group, {}).get(floor.measure)
        seen = None if estimate is None else estimate.mean
        # A rounding error of the mean must not miss the bound.
        slack = 1e-9
        reached = seen is not None and (
            seen >= floor.value - slack if floor.side == "min" else seen <= floor.value + slack
        )
        if not reached:
            failed.append(Missed(floor, seen))
    return failed


def _floor(side: Side, name: str, value: object) -> Floor:
    group, _, measure = name.rpartition(":")
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not measure or not isfinite(number):
        raise Invalid(f"{name}={value} is no bound: write recall@5=0.85, or kana-only:recall@5=0.92 for a category")
    return Floor(side, measure, number, group or WHOLE)
