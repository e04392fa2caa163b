"""`sakuin search`: what an agent would get."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import agent_of, settings_of
from sakuin_cli.options import CategoryOption, DataOption, JsonOption, LevelOption, MaterialOption, TypeOption
from sakuin_cli.terminal import Terminal, paragraph

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

KNOWLEDGE = "search_knowledge"
_BAR = 10
_INDENT = 4


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term, in any words.")],
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results.")] = 5,
    type: TypeOption = None,
    category: CategoryOption = None,
    level: LevelOption = None,
    material: MaterialOption = None,
    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The MCP tool to ask.")] = KNOWLEDGE,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Search as an agent does, over MCP."""
    terminal = Terminal(as_json)
    filters = {"type": type, "category": category, "level": level, "material": material}
    with terminal.reporting_errors():
        agent = agent_of(settings_of(data), tool)
        answer = agent.call(tool, {"query": query, "top_k": top_k, **filters})
    if as_json or tool != KNOWLEDGE:
        terminal.document(answer)
    else:
        _show(terminal.out, answer)


def _show(out: "Console", answer: Mapping[str, Any]) -> None:
    from rich.text import Text

    if degraded := answer.get("degraded"):
        out.print(Text(degraded, "bold yellow"), soft_wrap=True)
    if understood := answer.get("understood_as"):
        out.print(Text.assemble(("Searched for ", "dim"), f"「{understood}」"), soft_wrap=True)
        out.print()
    if answer.get("no_good_match") or not answer["results"]:
        out.print(Text.assemble(("No good match", "bold yellow"), f" for 「{answer['query']}」"), soft_wrap=True)
        if suggestions := answer.get("suggestions"):
            out.print(Text(f"もしかして: {' / '.join(suggestions)}"), soft_wrap=True)
    for number, result in enumerate(answer["results"], 1):
        _show_result(out, number, result)


def _show_result(out: "Console", number: int, result: Mapping[str, Any]) -> None:
    from rich.text import Text

    title = ((f"{number:>2}  ", "dim"), (result["title"], "bold"), "  ", (result["type"], "magenta"), "  ")
    out.print(Text.assemble(*title, _bar(float(result["similarity"]))), soft_wrap=True)
    # A link that is cut into lines is no link.
    out.print(Text.assemble(" " * _INDENT, (result["url"], "cyan")), soft_wrap=True)
    for learned in result["learns"]:
        paragraph(out, Text(f"・{learned}"))
    paragraph(out, _marked(Text(result["excerpt"], "dim"), result.get("matched", ())))
    out.print()


def _marked(text: "Text", words: Sequence[str]) -> "Text":
    """`text` with the words that matched in bold."""
    for word in words:
        text.highlight_regex(f"(?i){re.escape(word)}", "bold")
    return text


def _bar(similarity: float) -> "Text":
    """A similarity of 0-1 as a small bar and as a number."""
    from rich.text import Text

    full = min(_BAR, max(0, round(similarity * _BAR)))
    return Text.assemble(("█" * full, "green"), ("░" * (_BAR - full), "dim"), (f" {similarity:.2f}", "green"))
