"""`sakuin changes`: what changed in the index."""

import json
import sys
import time
from collections.abc import Callable, Iterator
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
    follow: Annotated[bool, typer.Option("--follow", help="Until Ctrl-C; with --json, one change a line.")] = False,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", min=1, help="How often to ask.")] = 10,
    tools: Annotated[
        bool, typer.Option("--tools", help="Of the Tools of SAKUIN_TOOLS_MCP_URL, instead of the pages.")
    ] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show what changed in the index since a cursor, the oldest first."""
    with reporting_errors(as_json) as terminal:
        read = feed_of(settings_of(data), of_tools=tools)
        answers = answers_since(
            lambda cursor: read(cursor, kind), since, (lambda: time.sleep(every)) if follow else None
        )
        try:
            _show(terminal, answers, follow)
        except KeyboardInterrupt:
            raise typer.Exit from None


def answers_since(
    read: "Callable[[str | None], Record]", cursor: str | None, wait: Callable[[], None] | None
) -> "Iterator[Record]":
    """Yields answers of the feed until it has no more; with `wait` without an end, waiting between them."""
    more = True
    while more or wait:
        if not more and wait:
            wait()
        answer = read(cursor)
        cursor, more = answer["cursor"], answer["more"]
        yield answer


def _show(terminal: Terminal, answers: "Iterator[Record]", follow: bool) -> None:
    rows: list[Record] = []
    cursor = ""
    for answer in answers:
        cursor = answer["cursor"]
        if terminal.as_json and not follow:
            rows += answer["changes"]
            continue
        for change in answer["changes"]:
            if terminal.as_json:
                sys.stdout.write(json.dumps(change | {"cursor": cursor}, ensure_ascii=False) + "\n")
            else:
                _show_change(terminal, change)
        sys.stdout.flush()
    if terminal.as_json and not follow:
        terminal.document({"changes": rows, "cursor": cursor})
    elif not terminal.as_json:
        terminal.fields({"cursor": cursor})


def _show_change(terminal: Terminal, change: "Record") -> None:
    from rich.text import Text

    about = change.get("moved_to") or change.get("reason") or change.get("title") or change.get("name") or ""
    line = ((f"{minute(change['time'])}  ", "dim"), (f"{change['kind']:{_WIDTH}}  ", "magenta"), change["id"], "  ")
    terminal.out.print(Text.assemble(*line, (about, "dim")))
