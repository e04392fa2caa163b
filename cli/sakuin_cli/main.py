"""The console script `sakuin`: the commands of `commands/`, and `up` if the local stack is installed."""

from collections.abc import Callable
from typing import Annotated

import typer
from sakuin import __version__

from sakuin_cli.commands import index, keys, mcp, project, table, tool
from sakuin_cli.commands.authors.annotate import annotate
from sakuin_cli.commands.authors.init import init
from sakuin_cli.commands.authors.learns import learns
from sakuin_cli.commands.authors.list import list_
from sakuin_cli.commands.authors.push import push
from sakuin_cli.commands.authors.rm import rm
from sakuin_cli.commands.authors.validate import validate
from sakuin_cli.commands.authors.watch import watch
from sakuin_cli.commands.connect import connect
from sakuin_cli.commands.erase import erase
from sakuin_cli.commands.eval import eval
from sakuin_cli.commands.explain import explain
from sakuin_cli.commands.operation import describe, doctor, gaps
from sakuin_cli.commands.reconcile import reconcile
from sakuin_cli.commands.redrive import redrive
from sakuin_cli.commands.search import read, search
from sakuin_cli.commands.status import status
from sakuin_cli.examples import add_examples

# The sections of the help, in its order.
PANELS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Start": (init, doctor),
    "Content": (push, watch, rm, list_, describe, table.app),
    "Ask": (search, read, explain, gaps),
    "Quality": (validate, annotate, learns, eval),
    "Agents": (connect, tool.app, mcp.app, keys.app),
    "Operate": (status, reconcile, redrive, index.app, project.app, erase),
}


def main() -> None:
    """Runs the command of the arguments."""
    app = commands()
    try:
        from sakuin_local.cli import register
    except ModuleNotFoundError as error:
        # An installation for a cloud deployment has no local stack; another missing module is an error.
        if error.name not in ("sakuin_local", "sakuin_local.cli"):
            raise
    else:
        register(app)
    app()


def commands() -> typer.Typer:
    """Returns the command line without `up`."""
    app = typer.Typer(
        name="sakuin",
        callback=_options,
        no_args_is_help=True,
        # A traceback must not show keys among its variables.
        pretty_exceptions_enable=False,
    )
    for panel, several in PANELS.items():
        for one in several:
            if isinstance(one, typer.Typer):
                app.add_typer(one, rich_help_panel=panel)
            else:
                app.command(one.__name__.rstrip("_"), rich_help_panel=panel)(one)
    add_examples(app)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sakuin {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Sakuin 索引: search for agents in pages and JSON documents, as they are now."""
