"""Contestants that take turns, and what their times show: medians, spreads and ratios of one run."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.comparison.worker import REPOSITORY
from benchmarks.stack import quantile

RUNS = 5
# Part of the speed of the release before; a contestant that loses more is named.
ALLOWED_LOSS = 0.25
SAKUIN = "Sakuin"
PEERS_PYTHON = REPOSITORY / ".tools" / "bench" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Run:
    """What was asked for. `own` has the path of each release of Sakuin; `folder` takes data, gone with the run."""

    own: Mapping[str, Sequence[Path]]
    folder: Path
    data: Path | None
    chunks: int
    most: int
    megabytes: float
    python: Path = Path(sys.executable)

    def place(self, name: str) -> Path:
        """Returns a new folder."""
        folder = self.folder / name
        folder.mkdir()
        return folder


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several runs, the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: the settings that the documents recommend, the time, its ratio, and further columns."""

    name: str
    settings: str
    time: Spread
    ratio: Spread
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """A question with its answer. `unit` is that of the times, `beside` has the ratio 1.

    Without rows it was left out, for the reason `remark`.
    """

    name: str
    title: str
    remark: str
    unit: str
    rows: Sequence[Row]
    beside: str = SAKUIN

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def by_turns(contestants: Mapping[str, Callable[[], float]], runs: int = RUNS) -> dict[str, list[float]]:
    """Returns the times of each. A first run warms up; then each run begins with another contestant."""
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for run in range(runs + 1):
        first = run % len(names)
        for name in [*names[first:], *names[:first]]:
            time = contestants[name]()
            if run:
                times[name].append(time)
    return times


def rows(
    times: Mapping[str, Sequence[float]],
    settings: Mapping[str, str],
    more: Mapping[str, Mapping[str, Any]] | None = None,
    beside: str = SAKUIN,
) -> list[Row]:
    """Returns a row for each; a ratio compares two times of the same run."""
    return [
        Row(
            name,
            settings.get(name, ""),
            Spread.of(each),
            Spread.of([time / other for time, other in zip(each, times[beside], strict=True)]),
            (more or {}).get(name, {}),
        )
        for name, each in times.items()
    ]


def losses(sections: Sequence[Section], before: str) -> list[str]:
    """Returns what became slower than in the release `before` by more than is allowed, in words."""
    return [
        f"{section.title}: {1 - row.ratio.median:.0%} of the speed of {before} is lost"
        for section in sections
        for row in section.rows
        if row.name == before and row.ratio.median < 1 - ALLOWED_LOSS
    ]


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Returns p50, p95 and p99."""
    return {f"p{share}": round(quantile(times, share / 100), 2) for share in (50, 95, 99)}
