"""The console script: the commands with their use cases, and `up` where the local stack is installed."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sakuin_cli.commands import commands

if TYPE_CHECKING:
    from sakuin_cli.desk import Desk


def main() -> None:
    """Runs the command that the arguments name."""
    app = commands(_desk, os.environ)
    try:
        from sakuin_local.cli import register
    except ModuleNotFoundError as error:
        # Keepers of a library in the cloud have no local stack; anything else that is missing is a broken install.
        if error.name not in ("sakuin_local", "sakuin_local.cli"):
            raise
    else:
        register(app)
    app()


def _desk(environ: Mapping[str, str]) -> "Desk":
    # The SDKs of all outside systems take more than a second to load: `--help` has no need of them.
    from sakuin_cli.wiring import desk

    return desk(environ)
