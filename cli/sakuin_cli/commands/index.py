"""`sakuin index`: the indexes of a deployment, and which of them answers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.views import Index, IndexPart

_NAME = "A fingerprint as `sakuin index status` shows it, or how it begins"

app = typer.Typer(name="index", help="The indexes of a deployment, and which one answers.", no_args_is_help=True)


@app.command()
def status(as_json: JsonOption = False, data: DataOption = None) -> None:
    """Show each index: what it is built with, whether it answers, how far it is built, what is missing."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        indexes = deployment(data).indexes()
    if as_json:
        terminal.document({"indexes": [_document(index) for index in indexes]})
    else:
        for index in indexes:
            _show(terminal, index)


@app.command()
def flip(
    fingerprint: Annotated[
        str, typer.Argument(metavar="FINGERPRINT", help=f"{_NAME}; left out: the newest that never answered.")
    ] = "next",
    force: Annotated[bool, typer.Option("--force", help="Even if it is not whole.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Let another index answer, if it is whole; the one that does now is kept, so that you can flip back."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        index = deployment(data).activate_index(fingerprint, force=force)
    if as_json:
        terminal.document(_document(index))
    else:
        _show(terminal, index)


@app.command()
def drop(
    fingerprint: Annotated[str, typer.Argument(metavar="FINGERPRINT", help=f"{_NAME}.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Give up an index that does not answer; what it held is removed within minutes."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        deleted = deployment(data).delete_index(fingerprint)
    terminal.fields({"fingerprint": deleted, "dropped": True})


def _document(index: "Index") -> dict[str, Any]:
    return {
        "fingerprint": index["fingerprint"],
        "settings": index["settings"],
        "live": index["live"],
        "whole": not index["pages"]["missing"] and not index["tables"]["missing"],
        "created_at": index["created_at"],
        "live_since": index["live_since"],
        "retired_at": index["retired_at"],
        "pages": _part(index["pages"]),
        "tables": _part(index["tables"]),
    }


def _part(part: "IndexPart") -> dict[str, Any]:
    return {"built": part["total"] - part["missing"], "total": part["total"], "missing": part["named"]}


def _show(terminal: Terminal, index: "Index") -> None:
    settings, pages, tables = index["settings"], index["pages"], index["tables"]
    model, cut = settings["model"], settings["cut"]
    prefixes = [repr(prefix) for prefix in (model["query_prefix"], model["passage_prefix"]) if prefix]
    terminal.fields(
        {
            "index": f"{index['fingerprint']}{'  answers' if index['live'] else ''}",
            "model": ", ".join([model["name"], str(model["dimensions"]), *prefixes]),
            "recipe": f"{settings['recipe']}, {settings['analyzer']}",
            "chunks": f"{cut['chunk_size']} with {cut['overlap']} in common, from {cut['threshold']} on, "
            f"{settings['chunker']}",
            "pages": f"{pages['total'] - pages['missing']} of {pages['total']}",
            "Tables": f"{tables['total'] - tables['missing']} of {tables['total']}",
            "since": index["live_since"] or index["created_at"],
        }
    )
    for part in (pages, tables):
        for one in part["named"]:
            terminal.out.print(f"  … {one['name']}  {one['reason']}", soft_wrap=True)
        if part["missing"] > len(part["named"]):
            terminal.out.print(f"  … and {part['missing'] - len(part['named'])} more")
