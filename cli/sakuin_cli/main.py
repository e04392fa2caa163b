"""The console script `sakuin`: the commands of `commands/`, and `up` if the local stack is installed."""

import sys
from importlib import import_module
from typing import Annotated

import typer
from sakuin import __version__

from sakuin_cli.options import as_command

# The sections of the help, in its order: functions and groups in the modules of `commands/`, imported if they are used.
PANELS: dict[str, tuple[str, ...]] = {
    "Start": ("authors.init:init", "operation:doctor"),
    "Content": ("authors.push:push", "authors.rm:rm", "authors.list:list_", "operation:describe", "table:app"),
    "Ask": ("search:search", "search:read", "explain:explain", "operation:gaps"),
    "Quality": ("authors.validate:validate", "authors.annotate:annotate", "authors.learns:learns", "eval:eval"),
    "Agents": ("connect:connect", "tool:app", "endpoint:app", "keys:app"),
    "Operate": ("status:status", "redrive:redrive", "index:index", "project:app", "erase:erase"),
}
# Examples for the help of commands, where the options do not say enough.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "push": ("sakuin push my-pages/", "sakuin push _site --watch", "sakuin push x.html --prefix guides"),
    "rm": ("sakuin rm guides/x", "sakuin rm guides/learns.yml synonyms.yml", "sakuin rm guides/"),
    "list": ("sakuin list --prefix guides",),
    "init": ("sakuin init", "sakuin init --pages public --build hugo --prefix docs"),
    "annotate": ("sakuin annotate pages/", "sakuin annotate pages/ --write"),
    "learns": ("sakuin learns pages/ > work.md", "sakuin learns pages/ --check", "sakuin learns pages/ --accept"),
    "connect": ("sakuin connect", "sakuin connect codex cursor", "sakuin connect --undo"),
    "search": ('sakuin search "how to restore a file" --top-k 3', 'sakuin search "exit code 4" --exact --in guides'),
    "read": ("sakuin read guides/x", 'sakuin read "guides/x#prices" --details'),
    "explain": ('sakuin explain "restore a file" "guides/x#restore-one-file"',),
    "eval": ("sakuin eval golden.jsonl", "sakuin eval questions.csv", "sakuin eval --compare before.json now.json"),
    "status": ("sakuin status", "sakuin status --material guides/x"),
    "validate": ("sakuin validate", "sakuin validate my-pages/ --offline", "sakuin validate --repair"),
    "redrive": ("sakuin redrive", "sakuin redrive material --all"),
    "erase": ("sakuin erase --folder alice --dry-run", "sakuin erase --folder alice --project ID"),
    "describe": ('sakuin describe "The manual of our product"', 'sakuin describe --in docs "How to use the app"'),
    "gaps": ("sakuin gaps", "sakuin gaps 3f9a1b2c4d5e"),
    "table put": ("sakuin table put columns.json", "sakuin table put columns.json --id columns"),
    "tool new": ("sakuin tool new --table columns --json-path /articles --name search_articles --wait",),
    "endpoint new": ("sakuin endpoint new --name tutor --tool search_articles",),
    "endpoint change": ("sakuin endpoint change tutor --tool search_faq", "sakuin endpoint change tutor --new-key"),
    "keys new": ("sakuin keys new --for admin",),
    "keys rm": ("sakuin keys rm 3f9a1b2c4d5e",),
    "index": ("sakuin index", "sakuin index --activate next", "sakuin index --drop FINGERPRINT"),
}


def main() -> None:
    """Runs the command of the arguments; one that they name is built alone, in a fifth less time."""
    if (name := next(iter(sys.argv[1:]), "")) in _BY_NAME:
        commands(name)()
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


def _name_of(place: str) -> str:
    module, _, name = place.partition(":")
    return module if name == "app" else name.rstrip("_")


_BY_NAME = {_name_of(place): (panel, place) for panel, places in PANELS.items() for place in places}


def commands(*names: str) -> typer.Typer:
    """Returns the command line of these commands, by default of all but `up`."""
    app = typer.Typer(
        name="sakuin",
        callback=_options,
        no_args_is_help=True,
        # A traceback must not show keys among its variables.
        pretty_exceptions_enable=False,
    )
    for name in names or _BY_NAME:
        panel, place = _BY_NAME[name]
        module, _, member = place.partition(":")
        one = getattr(import_module(f"sakuin_cli.commands.{module}"), member)
        if isinstance(one, typer.Typer):
            app.add_typer(one, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(as_command(one))
    _add_examples(app)
    return app


def _add_examples(app: typer.Typer, group: str = "") -> None:
    """Puts the examples below the help of the commands."""
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        if examples := EXAMPLES.get(f"{group}{name}"):
            # Of an epilog, help keeps the lines of paragraphs only.
            command.epilog = "\n\n".join(("Examples:", *examples))
    for below in app.registered_groups:
        if below.typer_instance is not None:
            _add_examples(below.typer_instance, f"{below.typer_instance.info.name} ")


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
