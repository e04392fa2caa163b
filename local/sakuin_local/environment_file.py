"""`<data>/env`: how the commands and the tests reach a running stack."""

import os
from collections.abc import Mapping
from pathlib import Path


def write_environment(file: Path, values: Mapping[str, str]) -> None:
    """Write `KEY=value` lines for its owner only, complete or not at all."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    unfinished.rename(file)


def read_environment(file: Path) -> dict[str, str]:
    """What `write_environment` wrote."""
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)


def environment_for(values: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment for a command that talks to this stack."""
    # A profile of a real account would come before the keys.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SAKUIN_"))}
    return {**inherited, **values}
