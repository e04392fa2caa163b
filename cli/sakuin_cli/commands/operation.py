"""Commands of operators: checks, what agents read about the library, and what readers did not find."""

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import ChangingCommand, Command
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin_cli.doctor import Report
    from sakuin_cli.rest import Record

_GAP = ("id", "asked", "weak", "unanswered", "since", "name")


def doctor(command: Command) -> None:
    """Check the deployment from outside and inside, and say what to do; exit code 1 if something is wrong."""
    from sakuin_cli.doctor import examine

    with command.terminal.progress("checking"):
        report = examine(command.data)
    findings = list(map(asdict, report.problems))
    document = {"findings": findings, "checked": report.checked, "unchecked": report.unchecked}
    command.terminal.answer(document, lambda: _show_report(command.terminal, report))
    raise typer.Exit(1 if report.problems else 0)


def _show_report(terminal: Terminal, report: "Report") -> None:
    for one in report.problems:
        terminal.print((f"{one.check:<18}", "yellow"), one.problem)
        terminal.print((" " * 18 + one.advice, "dim"))
    for name, reason in report.unchecked.items():
        terminal.print((f"not checked: {name}: {reason}", "dim"))
    found, right = report.problems, f"Nothing is wrong ({', '.join(report.checked)})"
    terminal.print((counted(len(found), "finding"), "bold yellow") if found else (right, "bold green"))
    terminal.next("sakuin doctor" if found else "sakuin status")


def describe(
    command: ChangingCommand,
    description: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="What it has, for whom: one line; an empty one deletes it.", show_default="show all"
        ),
    ] = None,
    folder: Annotated[str, typer.Option("--in", metavar="FOLDER", help="This folder.", show_default="all pages")] = "",
) -> None:
    """Say what the library, or a folder, is: agents read it before they search."""
    if description is not None:
        command.send("PUT", "descriptions", folder=folder, description=description)
    with command.terminal.waiting():
        found = command.client.call("GET", "descriptions")["descriptions"]
    command.terminal.rows("descriptions", found)
    if not found:
        command.terminal.next('sakuin describe "Mathematics for junior high schools"')


def gaps(
    command: Command,
    gap: Annotated[str, typer.Argument(help="The id of a gap: show what a page for it would need.")] = "",
) -> None:
    """List what was asked in the last 30 days without a good answer, the most frequent first."""
    with command.terminal.waiting():
        found = command.client.call("GET", "gaps", *filter(None, (gap,)))
    show = _show_gap if gap else _show_gaps
    command.terminal.answer(found, lambda: show(command.terminal, found))


def _show_gap(terminal: Terminal, found: "Record") -> None:
    nearest = [f"{one['similarity']:.2f} {one['title']}  {one['id']}" for one in found["nearest"]]
    lists = {"words that nothing has": found["words"], "nearest": nearest, "asked": found["gap"]["questions"]}
    terminal.fields({"heading": found["heading"], **{name: "\n".join(lines) for name, lines in lists.items()}})
    terminal.next(f"sakuin explain {shlex.quote(found['gap']['name'])}")


def _show_gaps(terminal: Terminal, found: "Record") -> None:
    terminal.rows("gaps", [{name: row[name] for name in _GAP} for row in found["gaps"]])
    if not found["is_recorded"]:
        terminal.print("Questions are not recorded: deploy with RecordRefusedQuestions=true")
    elif not found["gaps"]:
        terminal.print("No question was without a good answer")
    if found["gaps"]:
        terminal.next(f"sakuin gaps {found['gaps'][0]['id']}")
