"""`sakuin gaps`: what readers asked and did not find, and what a page for it would need."""

from typing import Annotated

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import reporting_errors

_NAMES = ("id", "asked", "weak", "since", "name")


def gaps(
    gap: Annotated[str, typer.Argument(help="The id of a gap: show what a page for it would need.")] = "",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """List what was asked in the last 30 days without a good answer, the most frequent first."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client = deployment(data)
        remedy = client.remedy(gap) if gap else None
        found = None if gap else client.gaps()
    if as_json:
        terminal.document(dict(remedy or found or {}))
    elif remedy:
        terminal.line("heading", "dim", remedy["heading"])
        if remedy["words"]:
            terminal.line("words that nothing has", "dim", ", ".join(remedy["words"]))
        for one in remedy["nearest"]:
            terminal.line(f"nearest {one['similarity']:.2f}", "dim", f"{one['title']}  {one['id']}")
        for question in remedy["gap"]["questions"]:
            terminal.line("asked", "dim", question)
    elif found:
        terminal.rows("gaps", [{name: row[name] for name in _NAMES} for row in found["gaps"]])  # type: ignore[literal-required]
        if not found["is_recorded"]:
            terminal.out.print("Questions are not recorded: deploy with RecordRefusedQuestions=true", soft_wrap=True)
        elif not found["gaps"]:
            terminal.out.print("No question was without a good answer", soft_wrap=True)
