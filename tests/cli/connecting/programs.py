"""Programs of agents that write down how they were called."""

import sys
from pathlib import Path

_PROGRAM = """#!{python}
import pathlib, sys
here = pathlib.Path(__file__).parent
if (reason := here / "fails").exists():
    sys.exit(reason.read_text())
with (here / "calls").open("a") as calls:
    print(pathlib.Path(__file__).name, *sys.argv[1:], file=calls)
"""


def installed(folder: Path, *names: str) -> Path:
    """Makes the programs in a folder for the PATH. A file `fails` in it ends each of them with its text."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(_PROGRAM.format(python=sys.executable))
        (folder / name).chmod(0o755)
    return folder


def calls_of(folder: Path) -> list[str]:
    """Returns the calls, each as its words with spaces between."""
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []
