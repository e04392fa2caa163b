"""`sakuin search` and `read`: the answers that an agent gets."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sakuin_cli.connections import Command
from sakuin_cli.options import (
    CategoryOption,
    FolderOption,
    LanguageOption,
    LevelOption,
    MaterialOption,
    OwnFilterOption,
    TypeOption,
    page_filters,
)
from sakuin_cli.terminal import Part, Terminal

KNOWLEDGE = "search_knowledge"
_CHUNK, _PAGE, _FIND = "get_chunk_by_id", "read_page", "find_text"
# The most that an agent may ask for in one call.
_MOST_TOKENS = 4000
_BAR = 10
_INDENT = 4
_SHOWN_ABOVE = ("title", "type", "url", "content", "learns")


def search(
    command: Command,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term, in any words.")],
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results.")] = 5,
    type: TypeOption = None,
    category: CategoryOption = None,
    level: LevelOption = None,
    language: LanguageOption = None,
    filter: OwnFilterOption = None,
    material: MaterialOption = None,
    folder: FolderOption = None,
    tool: Annotated[
        str,
        typer.Option(
            "--tool",
            metavar="NAME",
            help="The MCP tool to ask; the answer of a Search Tool of SAKUIN_TOOLS_MCP_URL is printed as JSON.",
        ),
    ] = KNOWLEDGE,
    exact: Annotated[
        bool, typer.Option("--exact", help="The lines with this exact text, in any case; exit code 1 if there is none.")
    ] = False,
) -> None:
    """Search as an agent does, over MCP."""
    if exact:
        _find(command, query, material, folder)
        return
    filters = page_filters(
        filter, folder, type=type, category=category, level=level, language=language, material=material
    )
    terminal = command.terminal
    with terminal.waiting():
        answer = command.agent(tool).call(tool, {"query": query, "top_k": top_k, **filters})
    if tool != KNOWLEDGE:
        terminal.document(answer)
    else:
        terminal.answer(answer, lambda: show_answer(terminal, answer))


def show_answer(terminal: Terminal, answer: Mapping[str, Any]) -> None:
    """Prints the answer of `search_knowledge`."""
    if degraded := answer.get("degraded"):
        terminal.print((degraded, "bold yellow"))
    if understood := answer.get("understood_as"):
        terminal.print(("Searched for ", "dim"), f'"{understood}"\n')
    if not_exact := answer.get("not_exact"):
        terminal.print((not_exact, "bold yellow"))
    if answer.get("no_good_match") or not answer["results"]:
        terminal.print(("No good match", "bold yellow"), f' for "{answer["query"]}"')
        if answer["results"]:
            terminal.print(("The nearest:", "dim"))
    if absent := answer.get("not_in_scope"):
        terminal.print((f"No text here has: {', '.join(absent)}", "bold yellow"))
    if hint := answer.get("hint"):
        terminal.print((hint, "bold yellow"))
    for number, result in enumerate(answer["results"], 1):
        _show_result(terminal, number, result)
    if truncated := answer.get("truncated"):
        terminal.print((f"{truncated} (--json has the cursor)", "dim"))


def _show_result(terminal: Terminal, number: int, result: Mapping[str, Any]) -> None:
    terminal.print((f"{number:>2}  ", "dim"), (result["title"], "bold"), "  ", *_bar(float(result["similarity"])))
    # A link must stay on one line.
    terminal.print(" " * _INDENT, (result["url"], "cyan"))
    # Rules may have taken it from the beginning of the text.
    excerpt = result.get("excerpt", "")
    for learned in (item for item in result.get("learns", ()) if item not in excerpt):
        terminal.print(f"・{learned}", indent=_INDENT)
    if excerpt:
        terminal.print((excerpt, "dim"), indent=_INDENT)
    if missing := result.get("missing"):
        terminal.print((f"It lacks: {', '.join(missing)}", "yellow"), indent=_INDENT)
    terminal.print()


def _bar(similarity: float) -> tuple[Part, ...]:
    """Returns a similarity of 0-1 as a bar and a number."""
    full = min(_BAR, max(0, round(similarity * _BAR)))
    return ("█" * full, "green"), ("░" * (_BAR - full), "dim"), (f" {similarity:.2f}", "green")


def _details(command: Command, id: str) -> None:
    """Prints one section in full, as get_chunk_by_id returns it."""
    with command.terminal.waiting():
        # The text of a long one comes in several answers.
        parts = [answer["chunk"] for answer in command.agent(_CHUNK).pages(_CHUNK, {"id": id})]
    chunk = {**parts[-1], "content": "".join(part["content"] for part in parts)}
    command.terminal.answer({"chunk": chunk}, lambda: _show_chunk(command.terminal, chunk))


def _show_chunk(terminal: Terminal, chunk: Mapping[str, Any]) -> None:
    terminal.print((chunk["title"], "bold"), "  ", (chunk["type"], "magenta"))
    terminal.print((chunk["url"], "cyan"), "\n")
    for line in chunk["content"].splitlines():
        terminal.print(line, indent=_INDENT)
    if chunk["learns"]:
        terminal.print(("\nWhat you can learn here", "bold"))
    for learned in chunk["learns"]:
        terminal.print(f"・{learned}", indent=_INDENT)
    terminal.print()
    details = {name: None if value == "" else value for name, value in chunk.items() if name not in _SHOWN_ABOVE}
    terminal.fields({**details, "prerequisites": ", ".join(chunk["prerequisites"]) or None})


def read(
    command: Command,
    page: Annotated[str, typer.Argument(metavar="PAGE", help="A page's name, or the id or link of a result in it.")],
    section: Annotated[
        str | None, typer.Option("--section", metavar="HEADING", help="Only what is below this heading.")
    ] = None,
    line: Annotated[
        int | None, typer.Option("--line", min=1, metavar="N", help="From this line, as `search --exact` counts them.")
    ] = None,
    lines: Annotated[int | None, typer.Option("--lines", min=1, metavar="N", help="So many lines.")] = None,
    details: Annotated[
        bool, typer.Option("--details", help="One section whole, with its learns and what is stored beside them.")
    ] = False,
) -> None:
    """Show a page or a section as an agent reads it: as Markdown, or lines as they are."""
    if details:
        _details(command, page)
        return
    with command.terminal.waiting():
        question = {"page": page, "section": section, "line": line, "lines": lines, "max_tokens": _MOST_TOKENS}
        answer, *others = command.agent(_PAGE).pages(_PAGE, question)
        text = answer["text"]
        for rest in others:
            # Of lines, one that did not fit goes on.
            is_next = "line" in rest and rest["line"] > answer["line"] + text.count("\n")
            text += ("\n" if is_next else "") + rest["text"]
    command.terminal.answer(
        {name: answer[name] for name in ("material", "title", "url")} | {"text": text},
        lambda: typer.echo(f"# {answer['title']}\n{answer['url']}\n\n{text}"),
    )


def _find(command: Command, text: str, material: str | None, folder: str | None) -> None:
    """Prints the lines of pages that have an exact text, as find_text returns them."""
    question = {"text": text, "material": material, "in": folder, "max_tokens": _MOST_TOKENS}
    with command.terminal.waiting():
        places = [place for answer in command.agent(_FIND).pages(_FIND, question) for place in answer["places"]]
    lines = "".join(f"{place['url']}:{place['line']}: {place['text']}\n" for place in places)
    command.terminal.answer({"places": places}, lambda: typer.echo(lines, nl=False))
    if not places:
        typer.echo("No line has this text", err=True)
        raise typer.Exit(1)
