"""The folder that holds everything a stack keeps: one stack at a time uses it, and only our own is wiped."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sakuin_local.errors import LocalError
from sakuin_local.processes import end_leftovers

MARK = ".sakuin-data"


@contextmanager
def claimed(folder: Path, *, fresh: bool = False) -> Iterator[list[str]]:
    """Have the folder for ourselves while the block runs; yields the names of leftovers that were ended.

    A folder that another `up` uses, or with files of somebody else, is an error; `fresh` empties it.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise LocalError(f"{folder} holds files that are not Sakuin's: choose another folder with --data")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The lock is the kernel's: it ends with its holder, however that ends.
    with (folder / MARK).open("a+") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            mark.seek(0)
            raise LocalError(
                f"sakuin up is running on {folder} already (process {mark.read().strip()}): "
                "use that one, stop it, or start another with --data and --port"
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
