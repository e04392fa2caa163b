"""`sakuin chunk`: one explanation in full."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sakuin_cli.connections import agent_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, paragraph

_TOOL = "get_chunk_by_id"
_DETAILS = (
    *("id", "material", "anchor", "category", "level", "prerequisites"),
    *("position", "generation", "content_hash"),
)


def chunk(
    id: Annotated[str, typer.Argument(metavar="ID", help="material#anchor, as search results give it (`id`).")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show one explanation in full, as get_chunk_by_id gives it."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        answer = agent_of(settings_of(data), _TOOL).call(_TOOL, {"id": id})
    if as_json:
        terminal.document(answer)
    else:
        _show(terminal, answer["chunk"])


def _show(terminal: Terminal, chunk: Mapping[str, Any]) -> None:
    from rich.text import Text

    out = terminal.out
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
