"""Charts of days: bars as SVG, which need no script, and the same numbers for a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from sakuin.upkeep.daily_counts import Usage

# Of a day in the units of the drawing, which is stretched to the width of the page.
_WIDTH, _BAR = 10, 8
_HEIGHT = 100


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of the days, with the key of their name below `chart.`; `tone` is a class of the style sheet."""

    name: str
    tone: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with the key of its title below `chart.`.

    The bars of a day are stacked, or else drawn one before the other, the largest first. `has_seconds`: the numbers are
    milliseconds, shown as seconds.
    """

    name: str
    days: Sequence[date]
    series: Sequence[Series]
    is_stacked: bool = True
    has_seconds: bool = False

    @property
    def top(self) -> int:
        """The largest bar."""
        sums = zip(*(each.values for each in self.series), strict=True)
        return max((sum(values) if self.is_stacked else max(values) for values in sums), default=0)

    @property
    def width(self) -> int:
        """The width of the drawing in its own units."""
        return _WIDTH * len(self.days)

    @property
    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields the tone and the path of each series."""
        scale, bases = _HEIGHT / max(self.top, 1), [0.0] * len(self.days)
        for series in self.series:
            bars = []
            for place, value in enumerate(series.values):
                if height := value * scale:
                    left, bottom = place * _WIDTH + 1, _HEIGHT - bases[place]
                    bars.append(f"M{left} {bottom:.1f}v-{height:.1f}h{_BAR}v{height:.1f}z")
                    bases[place] += height if self.is_stacked else 0.0
            yield series.tone, "".join(bars)

    @property
    def rows(self) -> Iterator[tuple[date, list[int]]]:
        """Yields the days that have a number, the last one first."""
        for place in reversed(range(len(self.days))):
            if any(values := [each.values[place] for each in self.series]):
                yield self.days[place], values

    def shown(self, value: int) -> str:
        """Returns a number as people read it."""
        return f"{value / 1000:,.3g} s" if self.has_seconds else f"{value:,}"


def charts_of(usage: Usage) -> list[Chart]:
    refused, weak = usage.series("refused"), usage.series("weak")
    counts = zip(usage.series("asked"), refused, weak, strict=True)
    answered = [max(0, all_ - without - little) for all_, without, little in counts]
    return [
        Chart(
            "questions",
            usage.days,
            [Series("answered", "good", answered), Series("weak", "busy", weak), Series("refused", "bad", refused)],
        ),
        _durations("latency", "ms", usage),
        _durations("freshness", "fresh", usage),
        Chart(
            "tokens",
            usage.days,
            [
                Series("embedding", "accent", usage.series("tokens:embedding")),
                Series("learns", "soft", usage.series("tokens:learns")),
            ],
        ),
    ]


def _durations(title: str, name: str, usage: Usage) -> Chart:
    most, half = usage.percentiles(name, 0.95), usage.percentiles(name, 0.5)
    series = [Series("p95", "soft", most), Series("p50", "accent", half)]
    return Chart(title, usage.days, series, is_stacked=False, has_seconds=True)
