"""The report of a run: tables for the terminal, JSON, and a page with plots that says where and how it was measured."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from benchmarks.comparison.measure import SAKUIN, Section, Spread
from benchmarks.comparison.worker import REPOSITORY

PAGE = "results.md"
_INTRODUCTION = """# Benchmarks beside peers

`make bench` wrote this page: do not edit it. Everybody is measured by turns in one run, after a run that warms up; a
figure is the median, with the lowest and the highest in brackets. **Trust the ratios**: they compare two times of the
same run. Below 1 a peer is faster than Sakuin, above 1 slower. Each is used as its documents recommend; vectors are
hashes or stored, so that no embedding model is timed. [What else is measured](../../benchmarks/README.md).
"""
_BUSY = (
    "**Other programs ran at the same time** (load {load:.1f} before the run): times are too long, ratios less exact."
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a run took place, and what else the machine did before it."""

    processor: str
    cores: int
    gigabytes: int
    system: str
    python: str
    load: float

    @classmethod
    def of_this_run(cls) -> "Machine":
        text = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
        models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
        memory = round(psutil.virtual_memory().total / 2**30)
        system = f"{platform.system()} {platform.release()}"
        processor = models[0] if models else platform.processor()
        return cls(processor, os.cpu_count() or 1, memory, system, platform.python_version(), os.getloadavg()[0])

    @property
    def is_busy(self) -> bool:
        return self.load > 0.3 * self.cores


@dataclass(frozen=True, slots=True)
class Report:
    """A run: its command without the names of folders, and the release before, None if there is none."""

    sections: Sequence[Section]
    machine: Machine
    versions: Mapping[str, str]
    command: str
    # Of the working tree before the first file of the page was written.
    commit: str
    before: str | None
    lost: Sequence[str]

    def write(self, folder: Path, version: str, plots: Sequence[Path]) -> None:
        """Writes `VERSION.json` and the page; `plots` are files in the folder, each named after its sections."""
        (folder / f"{version}.json").write_text(
            json.dumps(self.as_json(), ensure_ascii=False, indent=1) + "\n", "utf-8"
        )
        (folder / PAGE).write_text(self.page({plot.stem: plot.name for plot in plots}), "utf-8")

    def as_json(self) -> dict[str, Any]:
        machine = {name: getattr(self.machine, name) for name in self.machine.__slots__}
        about = {"command": self.command, "commit": self.commit, "machine": machine, "versions": dict(self.versions)}
        guard = {"before": self.before, "lost": list(self.lost)}
        return {**about, **guard, "sections": [section.as_json() for section in self.sections]}

    def page(self, plots: Mapping[str, str]) -> str:
        """Returns the page in Markdown."""
        machine = self.machine
        place = f"{machine.processor}, {machine.cores} cores, {machine.gigabytes} GB; {machine.system}"
        parts = [
            _INTRODUCTION,
            f"- Command: `{self.command}`\n- Commit: `{self.commit}`\n- Machine: {place}; Python {machine.python}\n"
            f"- Versions: {', '.join(f'{name} {version}' for name, version in self.versions.items())}",
            *([_BUSY.format(load=machine.load)] if machine.is_busy else []),
            f"## Beside the release before\n\n{self._guard()}",
        ]
        for name, some in groupby(self.sections, key=lambda section: section.name):
            sections = list(some)
            parts += [f"## {section.title}\n\n{section.remark}\n\n{table(section)}".rstrip() for section in sections]
            if name in plots:
                parts.append(f"![{', '.join(section.title for section in sections)}]({plots[name]})")
        return "\n\n".join(part.strip() for part in parts) + "\n"

    def _guard(self) -> str:
        if self.before is None:
            return "There is no release before this one."
        compared = [section for section in self.sections if any(row.name == self.before for row in section.rows)]
        lines = [f"- {line}" for line in self.lost] or ["Nothing became slower by a quarter or more."]
        return f"{self.before}, {len(compared)} measurements in the same run.\n\n" + "\n".join(lines)


def present_commit() -> str:
    """Returns the commit of the working tree, and whether something is changed beside it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()


def table(section: Section) -> str:
    """Returns the rows of a section in Markdown."""
    if not section.rows:
        return ""
    more = list(dict.fromkeys(column for row in section.rows for column in row.more))
    header = ["", "settings", section.unit, f"times {section.beside}", *more]
    lines = [header, ["---", "---", *["---:"] * (len(header) - 2)]]
    for row in section.rows:
        name = f"**{row.name}**" if row.name == SAKUIN else row.name
        others = (_number(row.more.get(column)) for column in more)
        lines.append([name, row.settings, _spread(row.time), _spread(row.ratio), *others])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _spread(value: Spread) -> str:
    if value.low == value.high:
        return _number(value.median)
    return f"{_number(value.median)} ({_number(value.low)}–{_number(value.high)})"


def _number(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
