"""Plots of the ratios of a run: `python -m benchmarks.comparison.peers.plots RESULTS.json FOLDER`.

One SVG for each group of sections. Only matplotlib's environment has it, hence a program of its own.
"""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
# The same figures make the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sakuin", "font.size": 9})

from matplotlib import pyplot as plt  # noqa: E402

_OWN, _PEER = "#3f51b5", "#9e9e9e"


def main(results: Path, folder: Path) -> None:
    """Draws every group that has something to compare, and prints the files."""
    sections = [section for section in json.loads(results.read_text("utf-8"))["sections"] if len(section["rows"]) > 1]
    for name, some in groupby(sections, key=lambda section: section["name"]):
        print(_draw(folder / f"{name}.svg", list(some)))


def _draw(file: Path, sections: list[dict[str, Any]]) -> Path:
    count = sum(len(section["rows"]) for section in sections)
    heights = [len(section["rows"]) for section in sections]
    height = 0.28 * count + 0.75 * len(sections)
    figure, axes = plt.subplots(
        len(sections), 1, figsize=(8, height), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for section, axis in zip(sections, axes[:, 0], strict=True):
        rows = section["rows"][::-1]
        medians = [row["ratio"]["median"] for row in rows]
        errors = [
            [row["ratio"]["median"] - row["ratio"]["low"] for row in rows],
            [row["ratio"]["high"] - row["ratio"]["median"] for row in rows],
        ]
        colors = [_OWN if row["name"] == "Sakuin" else _PEER for row in rows]
        axis.barh([row["name"] for row in rows], medians, xerr=errors, color=colors, ecolor="#555555", height=0.6)
        axis.set_xscale("log")
        axis.axvline(1, color=_OWN, linewidth=0.8)
        axis.set_title(f"{section['title']}: times {section['beside']} (log scale)", loc="left", fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    plt.close(figure)
    return file


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
