"""The data folder of a stack: a lock for one stack at a time, and the file `env` with the settings of the commands."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sakuin_cli.files import replace_bytes

from sakuin_local.errors import LocalError
from sakuin_local.processes import end_leftovers

MARK = ".sakuin-data"


@contextmanager
def claimed(folder: Path, *, fresh: bool = False) -> Iterator[list[str]]:
    """Locks the folder while the block runs; yields the names of programs of an earlier run that it ended.

    A folder that another `up` uses, or with files that are not ours, is an error; `fresh` empties it.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise LocalError(f"{folder} has files that are not Sakuin's: choose another folder with --data")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The kernel releases this lock when the process ends, for whatever reason.
    with (folder / MARK).open("a+") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            mark.seek(0)
            raise LocalError(
                f"sakuin up is already running on {folder} (process {mark.read().strip()}): "
                "use it, stop it, or start another with --data and --port"
            ) from None
        mark.truncate(0)
        mark.write(str(os.getpid()))
        mark.flush()
        ended = end_leftovers(folder)
        if fresh:
            _empty(folder)
        yield ended


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name == MARK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def write_environment(file: Path, values: Mapping[str, str]) -> None:
    """Writes `KEY=value` lines, whole or not at all; only the owner may read them."""
    lines = "".join(f"{key}={value}\n" for key, value in values.items())
    replace_bytes(file, lines.encode(), mode=0o600)


def environment_for(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a command that calls this stack."""
    # A profile of a real account would take precedence over the keys.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SAKUIN_"))}
    return {**inherited, **values}
