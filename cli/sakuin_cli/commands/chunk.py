"""`sakuin chunk`: one explanation in full."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def chunk(
        id: Annotated[str, typer.Argument(metavar="ID", help="material#anchor, as search results give it (`id`).")],
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Show one explanation in full, as get_chunk_by_id gives it."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).ask().chunk(id)
        if as_json:
            terminal.document(answer)
        else:
            _show(terminal, answer)


def _show(terminal: Terminal, answer: Mapping[str, Any]) -> None:
    from rich.text import Text

    from sakuin_cli.results import paragraph

    out, chunk = terminal.out, answer["chunk"]
    out.print(Text.assemble((chunk["title"], "bold"), "  ", (chunk["type"], "magenta")), soft_wrap=True)
    out.print(Text(chunk["url"], "cyan"), soft_wrap=True)
    out.print()
    for line in chunk["content"].splitlines():
        paragraph(out, Text(line))
    out.print()
    out.print(Text("What is learnt here", "bold"))
    for learned in chunk["learns"]:
        paragraph(out, Text(f"・{learned}"))
    out.print()
    for name in _DETAILS:
        value = chunk[name]
        shown = ", ".join(value) if isinstance(value, list) else value
        out.print(Text.assemble((f"{name:>13}  ", "dim"), "–" if shown in (None, "") else str(shown)), soft_wrap=True)


_DETAILS = (
    *("id", "material", "anchor", "category", "level", "prerequisites"),
    *("position", "generation", "content_hash"),
)
