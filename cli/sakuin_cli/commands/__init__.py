"""The commands."""

from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from sakuin_cli.commands import (
    chunk,
    eval,
    explain,
    index,
    keys,
    mcp,
    member,
    push,
    reconcile,
    redrive,
    rm,
    search,
    status,
    table,
    tool,
    validate,
)
from sakuin_cli.desk import Desk
from sakuin_cli.settings import settings_of


def commands(desk: Callable[[Mapping[str, str]], Desk], environ: Mapping[str, str]) -> typer.Typer:
    """The command line. `desk` is called with a command's settings when a command runs."""
    app = typer.Typer(
        name="sakuin",
        help="Sakuin 索引: teaching pages that agents can search.",
        no_args_is_help=True,
        add_completion=False,
        # A failure of ours is a sentence; a traceback must not show the keys among its variables.
        pretty_exceptions_enable=False,
    )

    def desk_of(data: Path | None) -> Desk:
        return desk(settings_of(environ, data, here=Path.cwd()))

    @app.callback()
    def _group() -> None:
        """Keeps each command under its own name, however few there are."""

    for command in (
        *(push, rm, search, chunk, explain, eval, status, validate, table, tool, mcp, keys),
        *(reconcile, redrive, index, member),
    ):
        command.register(app, desk_of)
    return app
