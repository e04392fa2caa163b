"""The plot of freshness: points on a logarithmic scale of seconds, as coordinates of an SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sakuin.upkeep.freshness import FreshnessDay

WIDTH, HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 28
# Between the ends of the lines and the first and the last day.
_MARGIN = 8
# More than a day is drawn a little above a day.
_LOWEST, _MORE = 1.0, 172_800.0
# Seconds, and the key of their text.
_TICKS = ((1, "second"), (10, "seconds_10"), (60, "minute"), (600, "minutes_10"), (3600, "hour"), (86_400, "day"))


@dataclass(frozen=True, slots=True)
class Plot:
    """The coordinates. `median` and `p95` have one (x, y) for each day; `ticks` are (y, key of a text)."""

    median: tuple[tuple[float, float], ...]
    p95: tuple[tuple[float, float], ...]
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT


def plot_of(days: Sequence[FreshnessDay], *, today: date, days_shown: int) -> Plot:
    """Returns the plot of the `days_shown` days until `today`."""
    first = today.toordinal() - days_shown + 1
    longest = max(max(day.p95 or _MORE, day.median or _MORE) for day in days)
    top = next((seconds for seconds, _text in _TICKS[2:] if seconds >= longest), _MORE)

    def height_of(seconds: float) -> float:
        share = math.log(max(seconds, _LOWEST) / _LOWEST) / math.log(top / _LOWEST)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    def point(day: FreshnessDay, seconds: float | None) -> tuple[float, float]:
        place = (date.fromisoformat(day.day).toordinal() - first) / max(days_shown - 1, 1)
        x = _LEFT + _MARGIN + place * (WIDTH - _LEFT - _RIGHT - 2 * _MARGIN)
        return round(x, 1), height_of(seconds or _MORE)

    return Plot(
        median=tuple(point(day, day.median) for day in days),
        p95=tuple(point(day, day.p95) for day in days),
        ticks=tuple((height_of(seconds), text) for seconds, text in _TICKS if seconds <= top),
        first=date.fromordinal(first).isoformat(),
        last=today.isoformat(),
    )
