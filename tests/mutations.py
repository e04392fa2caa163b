"""Deliberate defects that the tests have to find: `tests/mutations.toml` lists them.

python -m tests.mutations draw            # places in the product, drawn with a printed seed, to write defects at
python -m tests.mutations run [NUMBER …]  # applies each defect to a copy of the repository and runs its tests
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutations.toml"
SOURCES = ("layers/sakuin", "cli", "local")
SEED = 24
# Each package, file of the schema and the template has one place, and one more for so many lines.
LINES_OF_A_PLACE = 450
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
PYTEST = (str(ROOT / ".venv" / "bin" / "python"), *["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"])


@dataclass(frozen=True, slots=True)
class Mutation:
    """A defect: `before` becomes `after` in `file`. One of `tests` has to fail."""

    number: int
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def count_in(self, root: Path) -> int:
        """Returns how often the text before stands in the file, 0 if the file is gone."""
        path = root / self.file
        return path.read_text(encoding="utf-8").count(self.before) if path.exists() else 0


def mutations() -> list[Mutation]:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(number, tests=tuple(entry.pop("tests")), **entry) for number, entry in enumerate(entries, 1)]


def _places(path: Path) -> Iterator[int]:
    """Yields the lines where a statement begins."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        bodies = [node.body for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS)]
        yield from sorted({line.lineno for body in bodies for line in body if not isinstance(line, ast.Expr)})
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("  ") and not line.lstrip().startswith(("--", "#", "Description:")):
            yield number


def draw(seed: int) -> Iterator[str]:
    """Yields places in every package, more in a larger one; the same seed over the same files gives the same places."""
    generator = random.Random(seed)
    product = ROOT / "layers" / "sakuin" / "sakuin"
    packages: dict[str, list[Path]] = {}
    for path in sorted([*product.rglob("*.py"), *(ROOT / "supabase" / "schema").glob("*.sql"), ROOT / "template.yaml"]):
        package = path.relative_to(product).parts[0] if product in path.parents else path.name
        packages.setdefault("files beside the packages" if package.endswith(".py") else package, []).append(path)
    for paths in packages.values():
        places = [(path.relative_to(ROOT), line) for path in paths for line in _places(path)]
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
        count = min(len(places), 1 + round(lines / LINES_OF_A_PLACE))
        yield from (f"{path}:{line}" for path, line in sorted(generator.sample(places, count)))


def _outcome(mutation: Mutation, copy: Path) -> str:
    if mutation.count_in(copy) != 1:
        return "gone"
    path = copy / mutation.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")
    try:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(copy / source) for source in SOURCES)}
        command = [*PYTEST, *mutation.tests]
        output = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    finally:
        path.write_text(text, encoding="utf-8")
    failures = [line.split()[1] for line in output.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "survived" if output.returncode == 0 else f"found by {', '.join(failures) or output.stdout[-300:]}"


def run(chosen: list[int]) -> int:
    """Prints the outcome of each mutation as it comes; returns how many survived."""
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="sakuin-mutations-") as folder:
        copy = Path(folder)
        for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).rstrip("\0").split("\0"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        for name in (".venv", ".tools"):
            (copy / name).symlink_to(ROOT / name)
        # The migrations are the same schema; a defect is written into the files that people read.
        shutil.rmtree(copy / "supabase" / "migrations")
        (copy / "supabase" / "migrations").symlink_to("schema")
        for mutation in mutations():
            if not chosen or mutation.number in chosen:
                start, outcome = time.monotonic(), _outcome(mutation, copy)
                survivors += outcome == "survived"
                print(f"{mutation.number}\t{mutation.file}\t{outcome}\t{time.monotonic() - start:.0f} s", flush=True)
    return survivors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("act", choices=["draw", "run"])
    parser.add_argument("number", nargs="*", type=int, help="only these mutations")
    arguments = parser.parse_args()
    if arguments.act == "draw":
        print(f"seed {SEED}", *draw(SEED), sep="\n")
    else:
        sys.exit(1 if run(arguments.number) else 0)
