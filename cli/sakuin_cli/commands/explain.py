"""`sakuin explain`: how a question was understood, what each leg made of it, and what kept a chunk out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sakuin_cli.commands.search import ChunkTypeName
from sakuin_cli.desk import Desk
from sakuin_cli.evaluation.variants import RULES
from sakuin_cli.options import DataOption, IndexOption, JsonOption
from sakuin_cli.terminal import Terminal

LegsName = Literal["both", "words", "vectors"]


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def explain(
        query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term.")],
        expected: Annotated[
            str | None, typer.Argument(metavar="ID", help="What should have been found: an id, or a json_pointer.")
        ] = None,
        top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results an agent asks for.")] = 5,
        type: Annotated[ChunkTypeName | None, typer.Option("--type", help="Only explanations of this type.")] = None,
        category: Annotated[str | None, typer.Option("--category", help="Only pages of this category.")] = None,
        level: Annotated[str | None, typer.Option("--level", help="Only pages of this level.")] = None,
        material: Annotated[str | None, typer.Option("--material", help="Only this page.")] = None,
        legs: Annotated[LegsName, typer.Option("--legs", help="Which legs to ask.")] = "both",
        without: Annotated[
            list[str] | None,
            typer.Option("--without", metavar="RULE", help=f"Leave out a rule: {', '.join(RULES)}; may be repeated."),
        ] = None,
        tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="A Search Tool.")] = None,
        index: IndexOption = None,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Show how a question is understood and ranked, and what kept a chunk out."""
        if unknown := set(without or ()) - set(RULES):
            raise typer.BadParameter(f"{unknown.pop()!r} is none of {', '.join(RULES)}", param_hint="--without")
        terminal = Terminal(as_json)
        filters = {"type": type, "category": category, "level": level, "material": material}
        with terminal.reported():
            explained = desk_of(data).explain()
            said = explained(
                query,
                tool=tool,
                expected=expected,
                top_k=top_k,
                filters=filters,
                legs=legs,
                without=without or (),
                index=index,
            )
        if as_json:
            terminal.document(said)
        else:
            _show(terminal, said)


def _show(terminal: Terminal, said: Mapping[str, Any]) -> None:
    from sakuin_cli.explanation import show_expected, show_question, show_results

    show_question(terminal.out, said)
    show_results(terminal.out, said)
    show_expected(terminal.out, said)
