"""What a comparison found: medians, spreads and ratios of one run, as tables and as a page."""

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

from benchmarks.comparison.server import REPOSITORY
from benchmarks.stack import quantile

RUNS = 5
SAKUIN = "Sakuin"
# Of each contestant the time of each run.
Times = Mapping[str, Sequence[float]]
_PAGE = """# Benchmarks beside peers

`make bench` wrote this page: do not edit it. Everybody is measured by turns in one run, after a run that warms up; a
figure is the median, with the lowest and the highest in brackets. **Trust the ratios**: they compare two times of the
same run. Below 1 a peer is faster than Sakuin, above 1 slower. Each is used as its documents recommend; vectors are
hashes or stored, so that no embedding model is timed. [What else is measured](../../benchmarks/README.md).

- Command: `{command}`
- Commit: `{commit}`, {day}
- Machine: {machine}
- Versions: {versions}
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A question with its answer: the times of each contestant, its settings, and further columns."""

    title: str
    remark: str
    unit: str
    times: Times
    settings: Mapping[str, str]
    more: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"## {self.title}\n\n{self.remark}\n\n{self.table()}"

    def table(self) -> str:
        """Returns a row for each contestant, in Markdown."""
        columns = list(dict.fromkeys(column for cells in self.more.values() for column in cells))
        header = ["", "settings", self.unit, f"times {SAKUIN}", *columns]
        lines = [header, ["---", "---", *["---:"] * (len(header) - 2)]]
        for name, times in self.times.items():
            cells = self.more.get(name, {})
            ratios = _spread([time / own for time, own in zip(times, self.times[SAKUIN], strict=True)])
            others = ("" if column not in cells else _number(cells[column]) for column in columns)
            bold = f"**{name}**" if name == SAKUIN else name
            lines.append([bold, self.settings.get(name, ""), _spread(times), ratios, *others])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Returns p50, p95 and p99."""
    return {f"p{share}": round(quantile(times, share / 100), 2) for share in (50, 95, 99)}


def page(sections: Sequence[Section], command: str, versions: Mapping[str, str]) -> str:
    """Returns the page: how and where it was measured, and the sections."""
    describe = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.check_output(describe, cwd=REPOSITORY, text=True).strip()
    machine = f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    head = _PAGE.format(command=command, commit=commit, day=datetime.now(UTC).date(), machine=machine, versions=said)
    return "\n\n".join([head.strip(), *map(str, sections)]) + "\n"


def _spread(values: Sequence[float]) -> str:
    low, middle, high = map(_number, (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low}–{high})"


def _number(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
