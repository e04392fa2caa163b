"""What `sakuin` prints about itself: the help of every command, and what `up` shows when it is ready."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.golden.deployment import Deployment
from tests.golden.files import Entries
from tests.golden.normalise import lines

_COMMAND_LINE = re.compile(r"^│ ([a-z-]+)  ")


def helps(deployment: Deployment) -> Entries:
    """Reads the help of the command and of each command that it names."""
    return dict(_helps(deployment, ()))


def _helps(deployment: Deployment, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    printed = lines(deployment.sakuin(*path, "--help").stdout)
    yield " ".join(["sakuin", *path]), printed
    below = [(*path, name) for name in _commands(printed)]
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda each: list(_helps(deployment, each)), below):
            yield from found


def _commands(printed: list[str] | str) -> list[str]:
    """Returns the names in the box of commands."""
    names, inside = [], False
    for line in printed:
        inside = line.startswith("╭─ Commands") or (inside and not line.startswith("╰"))
        if inside and (named := _COMMAND_LINE.match(line)):
            names.append(named.group(1))
    return names


def up(deployment: Deployment) -> Entries:
    """Returns what `sakuin up` prints on stdout until it is ready."""
    return {"up": deployment.normaliser().value(lines(deployment.printed or ""))}
