"""The console script `sakuin`: one file of `commands` for each command, and `up` where the local stack is installed."""

import typer

from sakuin_cli.commands import index, keys, mcp, member, table, tool
from sakuin_cli.commands.chunk import chunk
from sakuin_cli.commands.eval import eval
from sakuin_cli.commands.explain import explain
from sakuin_cli.commands.push import push
from sakuin_cli.commands.reconcile import reconcile
from sakuin_cli.commands.redrive import redrive
from sakuin_cli.commands.rm import rm
from sakuin_cli.commands.search import search
from sakuin_cli.commands.status import status
from sakuin_cli.commands.validate import validate


def main() -> None:
    """Runs the command that the arguments name."""
    app = commands()
    try:
        from sakuin_local.cli import register
    except ModuleNotFoundError as error:
        # Operators of a deployment in the cloud have no local stack; anything else that is missing is a broken install.
        if error.name not in ("sakuin_local", "sakuin_local.cli"):
            raise
    else:
        register(app)
    app()


def commands() -> typer.Typer:
    """The command line without `up`."""
    app = typer.Typer(
        name="sakuin",
        help="Sakuin 索引: teaching pages that agents can search.",
        no_args_is_help=True,
        add_completion=False,
        # A failure of ours is a sentence; a traceback must not show the keys among its variables.
        pretty_exceptions_enable=False,
    )
    for command in (push, rm, search, chunk, explain, eval, status, validate, reconcile, redrive):
        app.command()(command)
    for group in (table, tool, mcp, keys, index, member):
        app.add_typer(group.app)
    return app
