"""Each benchmark once, at its smallest size: `python -m benchmarks [NAME …]`.

Those that drive a stack share one of their own, with the samples. Whatever fails is named in the end.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sakuin_local.places import REPOSITORY

from tests.integration.conftest import started

# Without a stack, and with one.
ALONE: dict[str, tuple[str, ...]] = {
    "general": ("--data", "tests/general", "en"),
    "books": ("tests/general/en/site",),
    "large_index": ("200",),
    "learning": ("--data", "tests/general"),
}
ON_A_STACK: dict[str, tuple[str, ...]] = {"freshness": ("5",), "cold_start": ("1",)}


def main(names: list[str]) -> None:
    """Runs those of these names, or all; ends with 1 if one of them failed."""
    wanted = names or [*ALONE, *ON_A_STACK]
    failed = []
    with ExitStack() as until_the_end:
        environment = dict(os.environ)
        if ON_A_STACK.keys() & set(wanted):
            environment["SAKUIN_DATA"] = str(until_the_end.enter_context(running_stack()))
        for name, arguments in {**ALONE, **ON_A_STACK}.items():
            if name in wanted and not _ran(name, arguments, environment):
                failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _ran(name: str, arguments: tuple[str, ...], environment: dict[str, str]) -> bool:
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    print(f"\n$ python -m benchmarks.{name} {' '.join(arguments)}", flush=True)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False)
    print(f"{name}: {'done' if done.returncode == 0 else 'FAILED'}, {time.perf_counter() - began:.0f} s", flush=True)
    return done.returncode == 0


@contextmanager
def running_stack() -> Iterator[Path]:
    """The data folder of `sakuin up`, on a free port, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="sakuin-benchmarks-") as folder, started(Path(folder)):
        yield Path(folder) / "data"


if __name__ == "__main__":
    main(sys.argv[1:])
