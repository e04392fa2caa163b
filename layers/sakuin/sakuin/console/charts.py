"""The figures of 30 days: lines beside numbers, and the questions of each day as bars, all as SVG without a script."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from sakuin.texts.catalogue import Texts
from sakuin.upkeep.daily_counts import EDGES, Usage

# The height of a drawing, and the width of a day; drawings are stretched to their place.
_HEIGHT, _WIDTH = 100, 10
_LINE_WIDTH, _LINE_HEIGHT = 100, 24
_TONES = {"answered": "good", "weak": "busy", "refused": "bad"}


@dataclass(frozen=True, slots=True)
class Day:
    """The questions of a day; `bars` are the tone, top and height of what is drawn of them, `left` where."""

    day: date
    counts: Mapping[str, int]
    left: int
    bars: Sequence[tuple[str, float, float]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the month with the key of its name below `figure.`; `line` are the points of its days."""

    name: str
    shown: str
    hint: str
    line: str


def duration(milliseconds: int, t: Texts) -> str:
    """Returns the upper edge of a counted duration for people; the last edge stands for everything that is longer."""
    if milliseconds >= EDGES[-1]:
        return t("figure.longer", hours=EDGES[-2] // 3_600_000)
    for unit, size in (("minutes", 60_000), ("seconds", 1000), ("milliseconds", 1)):
        if milliseconds >= size:
            return t(f"figure.{unit}", count=f"{milliseconds / size:.3g}")
    return "–"


def figures_of(usage: Usage, usd: float | None, t: Texts) -> list[Figure]:
    """Returns the figures of the last 30 days."""
    asked, tokens = usage.series("asked"), usage.series("tokens:embedding")
    good = [day.counts["answered"] for day in days_of(usage)]
    shares = [100 * answers / count if count else 0.0 for answers, count in zip(good, asked, strict=True)]
    share = f"{100 * sum(good) / sum(asked):.1f} %" if sum(asked) else "–"
    cost = f"${usd:,.2f}" if usd is not None else "–"
    return [
        Figure("asked", f"{sum(asked):,}", t("figure.today", count=asked[-1]), line(asked)),
        Figure("answered", share, t("figure.without", count=sum(asked) - sum(good)), line(shares)),
        *(
            Figure(name, duration(usage.within(name, 0.95), t), t("figure.p95"), line(usage.percentiles(name, 0.95)))
            for name in ("ms", "fresh")
        ),
        Figure("spent", cost, t("figure.tokens", count=sum(tokens)), line(tokens)),
    ]


def line(values: Sequence[float]) -> str:
    """Returns the points of a line through the values of days."""
    most, step = max(values) or 1, _LINE_WIDTH / (len(values) - 1)
    return " ".join(
        f"{n * step:.4g},{_LINE_HEIGHT + 1 - _LINE_HEIGHT * each / most:.3g}" for n, each in enumerate(values)
    )


def days_of(usage: Usage) -> list[Day]:
    """Returns the questions of each day."""
    counts = list(zip(usage.series("asked"), usage.series("weak"), usage.series("refused"), strict=True))
    rows = [(max(0, asked - weak - refused), weak, refused) for asked, weak, refused in counts]
    scale = _HEIGHT / axis(max(map(sum, rows)))[0]
    return [
        Day(day, dict(zip(_TONES, row, strict=True)), place * _WIDTH + 1, list(_bars(row, scale)))
        for place, (day, row) in enumerate(zip(usage.days, rows, strict=True))
    ]


def _bars(row: Sequence[int], scale: float) -> Iterator[tuple[str, float, float]]:
    top = float(_HEIGHT)
    for tone, count in zip(_TONES.values(), row, strict=True):
        top -= count * scale
        if count:
            yield tone, top, count * scale


def axis(most: int) -> list[int]:
    """Returns the numbers beside the bars, the greatest first: round ones, and the first not below `most`."""
    power = 10 ** max(0, math.floor(math.log10(max(most, 1))) - 1)
    parts = (1, 2, 2.5, 3, 5, 10, 15, 20, 25, 50, 100)
    step = next(part * power for part in parts if 4 * part * power >= most and part * power % 1 == 0)
    return [int(step * times) for times in (4, 3, 2, 1, 0)]
