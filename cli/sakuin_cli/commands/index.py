"""`sakuin index`: the index versions of a deployment."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import NotFound

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

_NAME = "its fingerprint, or the beginning"


def index(
    command: ChangingCommand,
    activate: Annotated[
        str | None,
        typer.Option(
            "--activate",
            metavar="FINGERPRINT",
            help=f"Activate this one: {_NAME}; next is the newest that was never live.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Activate it even if it is incomplete.")] = False,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="FINGERPRINT", help=f"Delete this one, which is not live: {_NAME}.")
    ] = None,
) -> None:
    """Show the index versions: settings, which one is live, how much is built, what is missing. Or change them.

    After --activate the version before is kept, so that you can go back; the content of a dropped one goes in minutes.
    """
    terminal = command.terminal
    if activate and drop:
        raise typer.BadParameter("--activate and --drop exclude each other", param_hint="--drop")
    name = drop or activate or "next"
    if command.dry_run and name != "next":
        indexes = command.client.call("GET", "index")["indexes"]
        if not any(one["fingerprint"].startswith(name) for one in indexes):
            raise NotFound(f"There is no index version {name!r}. `sakuin index` shows all")
    if drop:
        deleted = command.send("DELETE", "index", drop)["fingerprint"]
        terminal.fields({"fingerprint": deleted, "dropped": True})
    elif activate:
        live = command.send("POST", "index", "activate", index=activate, force=force)
        terminal.answer(live, lambda: _show(terminal, live))
    else:
        with terminal.waiting():
            indexes = command.client.call("GET", "index")["indexes"]
        terminal.answer({"indexes": indexes}, lambda: list(map(partial(_show, terminal), indexes)))


def _show(terminal: Terminal, index: "Record") -> None:
    settings, pages, tables = index["settings"], index["pages"], index["tables"]
    model, cut = settings["model"], settings["cut"]
    place = f", searched in {settings['store']}" if "store" in settings else ""
    prefixes = [repr(prefix) for prefix in (model["query_prefix"], model["passage_prefix"]) if prefix]
    terminal.fields(
        {
            "index": f"{index['fingerprint']}{'  live' if index['live'] else ''}",
            "model": ", ".join([model["name"], str(model["dimensions"]), *prefixes]),
            "text": f"{settings['recipe']}, {settings['analyzer']}",
            "chunks": f"{cut['chunk_size']} characters, overlap {cut['overlap']}, {settings['chunker']}",
            "pages": f"{pages['total'] - pages['missing']} of {pages['total']}{place}",
            "Tables": f"{tables['total'] - tables['missing']} of {tables['total']}",
            "since": index["live_since"] or index["created_at"],
        }
    )
    for part in (pages, tables):
        for one in part["named"]:
            terminal.print(f"  … {one['name']}  {one['reason']}")
        if part["missing"] > len(part["named"]):
            terminal.print(f"  … and {part['missing'] - len(part['named'])} more")
