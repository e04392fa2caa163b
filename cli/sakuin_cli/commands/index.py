"""`sakuin index`: the index versions of a deployment."""

from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

_NAME = "A fingerprint from `sakuin index status`, or its beginning"

app = typer.Typer(name="index", help="The index versions of a deployment.", no_args_is_help=True)


@app.command()
def status(as_json: JsonOption = False, data: DataOption = None) -> None:
    """Show each index version: its settings, whether it is live, how much is built, what is missing."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        indexes = deployment(data).call("GET", "index")["indexes"]
    if as_json:
        terminal.document({"indexes": indexes})
    else:
        for index in indexes:
            _show(terminal, index)


@app.command()
def activate(
    fingerprint: Annotated[
        str, typer.Argument(metavar="FINGERPRINT", help=f"{_NAME}; default: the newest that was never live.")
    ] = "next",
    force: Annotated[bool, typer.Option("--force", help="Even if it is incomplete.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Activate an index version that is complete. The current one is kept, so that you can go back."""
    with reporting_errors(as_json) as terminal:
        index = deployment(data).call("POST", "index", "activate", json={"index": fingerprint, "force": force})
    terminal.answer(index, lambda: _show(terminal, index))


@app.command()
def drop(
    fingerprint: Annotated[str, typer.Argument(metavar="FINGERPRINT", help=f"{_NAME}.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Delete an index version that is not live; its content is removed within minutes."""
    with reporting_errors(as_json) as terminal:
        deleted = deployment(data).call("DELETE", "index", fingerprint)["fingerprint"]
    terminal.fields({"fingerprint": deleted, "dropped": True})


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
