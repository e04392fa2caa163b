"""`sakuin index`: the indexes that a deployment keeps, and which of them answers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin.domain.index_state import BuiltPart, IndexState

_NAME = "A fingerprint as `sakuin index status` shows it, or how it begins"


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    index = typer.Typer(name="index", help="The indexes of a deployment, and which one answers.", no_args_is_help=True)
    app.add_typer(index)

    @index.command()
    def status(as_json: JsonOption = False, data: DataOption = None) -> None:
        """Show each index: what it is built with, whether it answers, how far it is built, what is missing."""
        terminal = Terminal(as_json)
        with terminal.reported():
            states = desk_of(data).indexes().states()
        if as_json:
            terminal.document({"indexes": [_document(state) for state in states]})
        else:
            _show(terminal, states)

    @index.command()
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
        with terminal.reported():
            state = desk_of(data).indexes().flip(fingerprint, force=force)
        if as_json:
            terminal.document(_document(state))
        else:
            _show(terminal, [state])

    @index.command()
    def drop(
        fingerprint: Annotated[str, typer.Argument(metavar="FINGERPRINT", help=f"{_NAME}.")],
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Give up an index that does not answer; what it held is removed within minutes."""
        terminal = Terminal(as_json)
        with terminal.reported():
            dropped = desk_of(data).indexes().drop(fingerprint)
        terminal.fields({"fingerprint": dropped, "dropped": True})


def _document(state: "IndexState") -> dict[str, Any]:
    return {
        "fingerprint": state.settings.id,
        "settings": state.settings.as_json(),
        "live": state.live,
        "whole": state.is_whole,
        "created_at": state.created_at,
        "live_since": state.live_since,
        "retired_at": state.retired_at,
        "pages": _part(state.pages),
        "tables": _part(state.tables),
    }


def _part(part: "BuiltPart") -> dict[str, Any]:
    named = [{"name": name, "reason": reason} for name, reason in part.named]
    return {"built": part.total - part.missing, "total": part.total, "missing": named}


def _show(terminal: Terminal, states: "Sequence[IndexState]") -> None:
    for state in states:
        parts = state.settings
        prefixes = [prefix for prefix in (parts.model.query_prefix, parts.model.passage_prefix) if prefix]
        cut = parts.cut
        fields: dict[str, Any] = {
            "index": f"{parts.id}{'  answers' if state.live else ''}",
            "model": ", ".join([parts.model.name, str(parts.model.dimensions), *map(repr, prefixes)]),
            "recipe": f"{parts.recipe}, {parts.analyzer}",
            "chunks": f"{cut.chunk_size} with {cut.overlap} in common, from {cut.threshold} on, {parts.chunker}",
            "pages": f"{state.pages.total - state.pages.missing} of {state.pages.total}",
            "Tables": f"{state.tables.total - state.tables.missing} of {state.tables.total}",
            "since": state.live_since or state.created_at,
        }
        terminal.fields(fields)
        for part in (state.pages, state.tables):
            for name, reason in part.named:
                terminal.out.print(f"  … {name}  {reason}", soft_wrap=True)
            if part.missing > len(part.named):
                terminal.out.print(f"  … and {part.missing - len(part.named)} more")
