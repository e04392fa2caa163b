"""`sakuin explain`: how a question is analyzed and ranked, and why a chunk is missing from the results."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from sakuin_cli.connections import Command
from sakuin_cli.options import (
    CategoryOption,
    FolderOption,
    IndexOption,
    LanguageOption,
    LevelOption,
    MaterialOption,
    OwnFilterOption,
    TypeOption,
    page_filters,
)
from sakuin_cli.terminal import Terminal, counted

_FIGURES = {
    "similarity": ".2f",
    "evidence": ".2f",
    "z": ".2f",
    "words": ".2f",
    "cosine": ".3f",
    "nearest_rank": "d",
    "matching_rank": "d",
}


def explain(
    command: Command,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term.")],
    expected: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="The expected result: page#anchor, or for a Search Tool the absolute json_pointer."
        ),
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results an agent asks for.")] = 5,
    type: TypeOption = None,
    category: CategoryOption = None,
    level: LevelOption = None,
    language: LanguageOption = None,
    filter: OwnFilterOption = None,
    material: MaterialOption = None,
    folder: FolderOption = None,
    legs: Annotated[
        Literal["both", "words", "vectors"], typer.Option("--legs", help="Which searches to use.")
    ] = "both",
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="Ask this Search Tool of SAKUIN_TOOLS_MCP_URL.")
    ] = None,
    index: IndexOption = None,
) -> None:
    """Show how a question is analyzed and ranked, and why a section or an entry is missing."""
    filters = page_filters(
        filter, folder, type=type, category=category, level=level, language=language, material=material
    )
    with command.terminal.waiting():
        explanation = command.client.explain(
            query, tool=tool, expected=expected, top_k=top_k, depth=top_k, filters=filters, legs=legs, index=index
        )
    command.terminal.answer(explanation, lambda: _show(command.terminal, explanation))


def _show(terminal: Terminal, explanation: Mapping[str, Any]) -> None:
    _show_outcome(terminal, explanation)
    _show_question(terminal, explanation)
    _show_results(terminal, explanation["results"])


def _show_outcome(terminal: Terminal, explanation: Mapping[str, Any]) -> None:
    """Prints what an agent gets, and why the expected chunk is in it or not."""
    results, expected = explanation["results"], explanation["expected"]
    if explanation["index_state"] not in (None, "ready"):
        terminal.print((f"The tool's index is not ready ({explanation['index_state']})", "bold yellow"))
    if degraded := explanation.get("degraded"):
        terminal.print((degraded, "bold yellow"))
    if explanation["refused"]:
        best = f": the similarity of the best is below {explanation['threshold']:.2f}" if results else ""
        terminal.print(("No good match: an agent gets the nearest three at most", "bold yellow"), best)
    elif expected is None and results:
        title = results[0]["title"] or results[0]["id"]
        terminal.print(f'An agent gets {counted(len(results), "result")}, first "{title}"')
    _show_expected(terminal, expected)
    terminal.print()


def _show_question(terminal: Terminal, explanation: Mapping[str, Any]) -> None:
    """Prints the embedded text, the steps of the analysis, and the words and character grams that are looked up."""
    understood = explanation["understood"]
    terminal.print((explanation["query"], "bold"))
    terminal.print(("embedded  ", "dim"), understood["text"])
    for step in understood["steps"]:
        found, read_as = (step["found"], "yellow"), (step["read_as"], "green")
        folder = (f"  {step['folder']}", "dim") if step["folder"] else ""
        terminal.print((f"{step['rule']:>8}  ", "dim"), found, " → ", read_as, folder)
    for kind, name in (("word", "words"), ("gram", "grams")):
        slots = [slot for slot in understood["slots"] if slot["kind"] == kind]
        if slots:
            terminal.print((f"{name:>8}  ", "dim"), "  ".join("|".join(slot["terms"]) for slot in slots))
    terminal.print()


def _show_results(terminal: Terminal, results: Sequence[Mapping[str, Any]]) -> None:
    """Prints the best chunks with their figures."""
    for result in results:
        type = f"  {result['type']}" if result["type"] else ""
        title = (result["title"] or result["id"], "bold")
        terminal.print((f"{result['rank'] or '–':>3}  ", "dim"), title, (type, "magenta"))
        part = "" if result["chunk_index"] is None else f" chunk {result['chunk_index']}"
        terminal.print((f"     {result['id']}{part}", "cyan"))
        _show_hit(terminal, result, indent=5)
    terminal.print()


def _show_expected(terminal: Terminal, expected: Mapping[str, Any] | None) -> None:
    """Prints what happened to the expected chunk."""
    if expected is None:
        return
    terminal.print(("expected  ", "dim"), (expected["id"], "bold"))
    terminal.print(f"  {expected['why']}")
    if expected["hit"] is not None:
        _show_hit(terminal, expected["hit"], indent=2)


def _show_hit(terminal: Terminal, hit: Mapping[str, Any], *, indent: int) -> None:
    """Prints the figures and the matched words of a chunk."""
    known = ((name, form) for name, form in _FIGURES.items() if hit[name] is not None)
    figures = ", ".join(f"{name.removesuffix('_rank')} {hit[name]:{form}}" for name, form in known)
    terminal.print((f"{'':{indent}}{figures}", "dim"))
    if hit["matched"]:
        terminal.print((f"{'':{indent}}matched ", "dim"), (" ".join(hit["matched"]), "green"))
