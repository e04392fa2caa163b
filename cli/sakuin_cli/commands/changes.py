"""`sakuin changes`: what changed in the index."""

from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import feed_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, minute, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

_WIDTH = 19


def changes(
    since: Annotated[
        str | None, typer.Option("--since", metavar="CURSOR", help="The cursor that the last call printed.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind, page.failed; may be repeated.")
    ] = None,
    tools: Annotated[
        bool, typer.Option("--tools", help="Of the Tools of SAKUIN_TOOLS_MCP_URL, instead of the pages.")
    ] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show what changed in the index since a cursor, the oldest first."""
    rows: list[Record] = []
    with reporting_errors(as_json) as terminal:
        read = feed_of(settings_of(data), of_tools=tools)
        more = True
        while more:
            answer = read(since, kind)
            since, more = answer["cursor"], answer["more"]
            rows += answer["changes"]
            for change in () if as_json else answer["changes"]:
                _show_change(terminal, change)
    if as_json:
        terminal.document({"changes": rows, "cursor": since})
    else:
        terminal.fields({"cursor": since})


def _show_change(terminal: Terminal, change: "Record") -> None:
    from rich.text import Text

    about = change.get("moved_to") or change.get("reason") or change.get("title") or change.get("name") or ""
    line = ((f"{minute(change['time'])}  ", "dim"), (f"{change['kind']:{_WIDTH}}  ", "magenta"), change["id"], "  ")
    terminal.out.print(Text.assemble(*line, (about, "dim")))
