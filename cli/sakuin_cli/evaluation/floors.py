"""Floors and ceilings of the figures of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from sakuin.errors import Invalid

from sakuin_cli.evaluation.figures import WHOLE, Group

Side = Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class Floor:
    """A bound of one figure: at least (`min`) or at most (`max`) `value`, of all questions or of one group."""

    side: Side
    measure: str
    value: float
    group: str = WHOLE

    def __str__(self) -> str:
        of = "" if self.group == WHOLE else f"{self.group}:"
        return f"{of}{self.measure} {'≥' if self.side == 'min' else '≤'} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Missed:
    """A floor that a run misses; `seen` is None if no question has the measure."""

    floor: Floor
    seen: float | None

    def __str__(self) -> str:
        return f"{self.floor}: {'no question has this measure' if self.seen is None else f'{self.seen:.3f}'}"


def floor_of(side: Side, text: str) -> Floor:
    """Parses a floor such as `recall@5=0.85` or `kana-only:recall@5=0.92`; raises `Invalid`."""
    name, _, value = text.rpartition("=")
    group, _, measure = name.rpartition(":")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not measure or not isfinite(number):
        raise Invalid(f"{text} is not a floor: write recall@5=0.85, or kana-only:recall@5=0.92 for a category")
    return Floor(side, measure, number, group or WHOLE)


def missed(floors: Iterable[Floor], groups: Sequence[Group]) -> list[Missed]:
    """Returns the floors that the figures miss. A floor of a measure without questions is missed too."""
    figures: Mapping[str, Mapping[str, Any]] = {group.name: group.figures for group in groups}
    failed = []
    for floor in floors:
        estimate = figures.get(floor.group, {}).get(floor.measure)
        seen = None if estimate is None else estimate.mean
        sign = 1 if floor.side == "min" else -1
        # A mean may differ in the last bit.
        if seen is None or sign * (seen - floor.value) < -1e-9:
            failed.append(Missed(floor, seen))
    return failed
