"""How many near misses are refused: questions that share words with pages which do not answer them.

`python -m benchmarks.near_misses [SITE …]` asks `near_misses.jsonl` beside this file about the samples and the pages of
`tests/general`, or about those of them that are named. Figures: docs/decisions/0079-near-misses.md.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sakuin_local.places import REPOSITORY

from benchmarks.cached_model import CachedModel
from benchmarks.in_process import indexed

QUESTIONS = Path(__file__).with_suffix(".jsonl")
VECTORS = REPOSITORY / "build" / "benchmarks" / "vectors.db"
# The other sites need no vocabulary.
VOCABULARIES = {"samples": "school-mathematics"}


def main(sites: Collection[str]) -> None:
    """Prints a row a site, and the questions that were answered, by falling similarity."""
    asked: dict[str, list[str]] = defaultdict(list)
    for line in QUESTIONS.read_text("utf-8").splitlines():
        question = json.loads(line)
        asked[question["site"]].append(question["query"])
    model = CachedModel.in_file(VECTORS)
    table = Table(title="Near misses", title_justify="left", box=None)
    for column in ("site", "asked", "refused", "answered"):
        table.add_column(column, justify="right" if column in ("asked", "refused") else "left")
    for site in sites or asked:
        with indexed(REPOSITORY / site, model, vocabulary=VOCABULARIES.get(site, "")) as library:
            said = {query: library.explain(query, depth=1) for query in asked[site]}
        answered = {query: one.results[0].similarity for query, one in said.items() if not one.refused}
        names = [f"{query} ({answered[query]:.2f})" for query in sorted(answered, key=lambda query: -answered[query])]
        table.add_row(site, str(len(said)), str(len(said) - len(answered)), ", ".join(names))
    Console(width=140).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
