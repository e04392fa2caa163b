"""`sakuin search` and `read`: the answers that an agent gets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sakuin_cli.connections import agent_of, settings_of
from sakuin_cli.options import (
    CategoryOption,
    DataOption,
    FolderOption,
    JsonOption,
    LevelOption,
    MaterialOption,
    TypeOption,
)
from sakuin_cli.terminal import Part, Terminal, reporting_errors

KNOWLEDGE = "search_knowledge"
_CHUNK, _PAGE, _FIND = "get_chunk_by_id", "read_page", "find_text"
# The most that an agent may ask for in one call.
_MOST_TOKENS = 4000
_BAR = 10
_INDENT = 4
_SHOWN_ABOVE = ("title", "type", "url", "content", "learns")


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, a goal or a term, in any words.")],
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=50, help="How many results.")] = 5,
    type: TypeOption = None,
    category: CategoryOption = None,
    level: LevelOption = None,
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
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Search as an agent does, over MCP."""
    if exact:
        _find(query, material, folder, as_json, data)
        return
    filters = {"type": type, "category": category, "level": level, "material": material, "in": folder}
    with reporting_errors(as_json) as terminal, terminal.waiting():
        agent = agent_of(settings_of(data), tool)
        answer = agent.call(tool, {"query": query, "top_k": top_k, **filters})
    if as_json or tool != KNOWLEDGE:
        terminal.document(answer)
    else:
        show_answer(terminal, answer)


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


def _details(id: str, as_json: bool, data: Path | None) -> None:
    """Prints one section in full, as get_chunk_by_id returns it."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        # The text of a long one comes in several answers.
        parts = [answer["chunk"] for answer in agent_of(settings_of(data), _CHUNK).pages(_CHUNK, {"id": id})]
        answer = {"chunk": {**parts[-1], "content": "".join(part["content"] for part in parts)}}
    terminal.answer(answer, lambda: _show_chunk(terminal, answer["chunk"]))


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
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show a page or a section as an agent reads it: as Markdown, or lines as they are."""
    if details:
        _details(page, as_json, data)
        return
    with reporting_errors(as_json) as terminal, terminal.waiting():
        question = {"page": page, "section": section, "line": line, "lines": lines, "max_tokens": _MOST_TOKENS}
        answer, *others = agent_of(settings_of(data), _PAGE).pages(_PAGE, question)
        text = answer["text"]
        for rest in others:
            # Of lines, one that did not fit goes on.
            is_next = "line" in rest and rest["line"] > answer["line"] + text.count("\n")
            text += ("\n" if is_next else "") + rest["text"]
    terminal.answer(
        {name: answer[name] for name in ("material", "title", "url")} | {"text": text},
        lambda: typer.echo(f"# {answer['title']}\n{answer['url']}\n\n{text}"),
    )


def _find(text: str, material: str | None, folder: str | None, as_json: bool, data: Path | None) -> None:
    """Prints the lines of pages that have an exact text, as find_text returns them."""
    wanted = {"text": text, "material": material, "in": folder}
    with reporting_errors(as_json) as terminal, terminal.waiting():
        answers = agent_of(settings_of(data), _FIND).pages(_FIND, {**wanted, "max_tokens": _MOST_TOKENS})
        places = [place for answer in answers for place in answer["places"]]
    if as_json:
        terminal.document({"places": places})
    else:
        for place in places:
            typer.echo(f"{place['url']}:{place['line']}: {place['text']}")
    if not places:
        typer.echo("No line has this text", err=True)
        raise typer.Exit(1)
