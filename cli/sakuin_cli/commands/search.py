"""`sakuin search`: what an agent would get."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

KNOWLEDGE = "search_knowledge"
_OF_KNOWLEDGE = (KNOWLEDGE, "list_concepts", "get_chunk_by_id")
ChunkTypeName = Literal["rule", "method", "definition", "example", "tip"]


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def search(
        query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term, in any words.")],
        top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results.")] = 5,
        type: Annotated[ChunkTypeName | None, typer.Option("--type", help="Only explanations of this type.")] = None,
        category: Annotated[str | None, typer.Option("--category", help="Only pages of this category.")] = None,
        level: Annotated[str | None, typer.Option("--level", help="Only pages of this level.")] = None,
        material: Annotated[str | None, typer.Option("--material", help="Only this page.")] = None,
        tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The MCP tool to ask.")] = KNOWLEDGE,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Search as an agent does, over MCP."""
        terminal = Terminal(as_json)
        filters = {"type": type, "category": category, "level": level, "material": material}
        with terminal.reported():
            desk = desk_of(data)
            agent = desk.ask() if tool in _OF_KNOWLEDGE else desk.ask_tools()
            answer = agent.search(tool, query, top_k=top_k, filters=filters)
        if as_json or tool != KNOWLEDGE:
            terminal.document(answer)
        else:
            _show(terminal, answer)


def _show(terminal: Terminal, answer: Mapping[str, Any]) -> None:
    from sakuin_cli.results import show_nothing, show_result, show_understood

    show_understood(terminal.out, answer)
    if answer.get("no_good_match") or not answer["results"]:
        show_nothing(terminal.out, answer)
    for number, result in enumerate(answer["results"], 1):
        show_result(terminal.out, number, result)
