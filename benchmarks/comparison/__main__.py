"""`make bench`: what Sakuin is compared with, in one run, by turns.

`make bench OPTIONS="--only NAME …"` prints tables; without `--only` it writes the page, too.
"""

import argparse
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sakuin import __version__

from benchmarks.comparison import chunking, indexing_again, search
from benchmarks.comparison.report import SAKUIN, Section, page
from benchmarks.comparison.server import PEERS_PYTHON, REPOSITORY

PARTS: dict[str, Callable[[Path], Iterator[Section]]] = {
    "chunking": chunking.sections,
    "again": indexing_again.sections,
    "search": search.sections,
}


def main(arguments: list[str]) -> None:
    """Runs the parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison")
    parser.add_argument("--only", nargs="+", choices=PARTS)
    options = parser.parse_args(arguments)
    if not PEERS_PYTHON.exists():
        raise SystemExit("The environment of the peers is not there: run `make bench`")
    lock = (REPOSITORY / "requirements" / "bench.txt").read_text("utf-8")
    # What the list names, and not what that needs.
    versions = {SAKUIN: __version__} | dict(
        re.findall(r"^([\w-]+)==(\S+)(?: .*)?\n(?:    .*\n)*?    # via.* bench.in", lock, re.M)
    )
    command = f'make bench OPTIONS="{shlex.join(arguments)}"' if arguments else "make bench"
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="sakuin-bench-") as folder:
        for name in options.only or PARTS:
            began, place = time.monotonic(), Path(folder, name)
            place.mkdir()
            for section in PARTS[name](place):
                print(f"{section}\n", flush=True)
                sections.append(section)
            print(f"{name}: {time.monotonic() - began:.0f} s\n", flush=True)
    if not options.only:
        (REPOSITORY / "docs" / "benchmarks" / "results.md").write_text(page(sections, command, versions), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
