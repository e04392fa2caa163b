"""The command `sakuin`, run in this process."""

import functools
from typing import Any

import typer.testing
from click.testing import Result
from sakuin_cli.main import commands
from typer.testing import CliRunner

# Its tree takes longer to build than most of the commands to run.
typer.testing._get_command = functools.cache(typer.testing._get_command)
COMMANDS = commands()


def run(*arguments: object, **environ: str | None) -> Result:
    """Runs a command; variables of the environment that are None are removed for it."""
    result: Any = CliRunner(env=environ).invoke(COMMANDS, [str(each) for each in arguments], catch_exceptions=False)
    return result
