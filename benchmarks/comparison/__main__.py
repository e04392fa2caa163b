"""`make bench`: everything that Sakuin is compared with, in one run, by turns.

`make bench OPTIONS="--only NAME …"` prints tables; without `--only`, or with `--to FOLDER`, it writes the page, too.
`--data DIR` adds the pages of a folder. `--before REF` is the release that must not have been faster; by default the
last tag. Ends with 1 if it was, by a quarter or more.
"""

import argparse
import io
import json
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sakuin import __version__

from benchmarks.comparison import chunking, freshness, growth, indexing_again, search, serving
from benchmarks.comparison.measure import PEERS_PYTHON, SAKUIN, Run, Section, losses
from benchmarks.comparison.report import Machine, Report, present_commit, table
from benchmarks.comparison.worker import REPOSITORY

PAGES = REPOSITORY / "docs" / "benchmarks"
_VERSIONS = """
import json, re, sys
from importlib.metadata import version
names = [re.split(r"[\\[ ]", line.strip())[0] for line in open(sys.argv[1]) if line.strip() and line[0] != "#"]
print(json.dumps({name: version(name) for name in names}))
"""


PARTS: dict[str, Callable[[Run], Iterator[Section]]] = {
    "chunking": chunking.sections,
    "again": indexing_again.sections,
    "serving": serving.sections,
    "search": search.sections,
    "growth": growth.sections,
    "starts": freshness.sections,
}


def main(arguments: list[str]) -> int:
    """Runs the parts; returns 1 if something became slower."""
    given = _parser().parse_args(arguments)
    if not PEERS_PYTHON.exists():
        raise SystemExit("The environment of the peers is not there: run `make bench`")
    machine, commit, before = Machine.of_this_run(), present_commit(), given.before or _last_tag()
    versions = {SAKUIN: __version__} | json.loads(
        subprocess.check_output(
            [PEERS_PYTHON, "-c", _VERSIONS, str(REPOSITORY / "requirements" / "bench.in")], text=True
        )
    )
    print(", ".join(f"{name} {version}" for name, version in versions.items()), flush=True)
    command = f'make bench OPTIONS="{shlex.join(arguments)}"' if arguments else "make bench"
    # Whose pages and whose folders these are is nobody's business.
    for place, name in ((given.data, "DIR"), (given.to, "FOLDER")):
        command = command.replace(shlex.quote(str(place)), name) if place else command
    sections: list[Section] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sakuin-bench-") as folder:
        own: dict[str, Sequence[Path]] = {SAKUIN: ()}
        if before:
            own[before] = _checked_out(before, Path(folder, "before"))
        run = Run(own, Path(folder), given.data, given.chunks, given.most, given.megabytes)
        for name in given.only or PARTS:
            began = time.monotonic()
            for section in PARTS[name](run):
                print(f"{section.title}: {section.remark}\n{table(section)}\n", flush=True)
                sections.append(section)
            print(f"{name}: {time.monotonic() - began:.0f} s\n", flush=True)
            lost = losses(sections, before) if before else []
            # After each part: a long run that is interrupted has measured something.
            if given.to or not given.only:
                _write(Report(sections, machine, versions, command, commit, before, lost), given.to or PAGES)
    for line in lost:
        print(f"SLOWER: {line}")
    return bool(lost)


def _write(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    report.write(folder, __version__, ())
    results = folder / f"{__version__}.json"
    command = [str(PEERS_PYTHON), "-m", "benchmarks.comparison.peers.plots", str(results), str(folder)]
    drawn = subprocess.check_output(command, text=True, cwd=REPOSITORY).split("\n")
    report.write(folder, __version__, [Path(file) for file in drawn if file])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison")
    parser.add_argument("--only", nargs="+", choices=PARTS)
    parser.add_argument("--data", type=Path, help="a folder of further pages")
    parser.add_argument("--before", help="a commit or tag of Sakuin to compare with")
    parser.add_argument("--chunks", type=int, default=1000, help="of the search")
    parser.add_argument("--most", type=int, default=10_000, help="chunks that the growth ends at")
    parser.add_argument("--megabytes", type=float, default=10, help="of the Table that is indexed again")
    parser.add_argument("--to", type=Path, help="where the page goes, instead of docs/benchmarks")
    return parser


def _last_tag() -> str | None:
    command = ["git", "describe", "--tags", "--abbrev=0", "HEAD^"]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def _checked_out(ref: str, folder: Path) -> Sequence[Path]:
    """Puts the product of a release into a folder; returns what Python imports it from."""
    archive = subprocess.check_output(["git", "archive", ref, "layers", "cli", "local", "supabase"], cwd=REPOSITORY)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "layers" / "sakuin", folder / "cli", folder / "local"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
