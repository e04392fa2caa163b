"""Commands of operators: checks, what agents read about the library, and what readers did not find."""

import shlex
from dataclasses import asdict
from typing import Annotated

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import counted, reporting_errors

_GAP = ("id", "asked", "weak", "unanswered", "since", "name")


def doctor(as_json: JsonOption = False, data: DataOption = None) -> None:
    """Check the deployment from outside and inside, and say what to do; exit code 1 if something is wrong."""
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.doctor import examine

        with terminal.progress("checking"):
            report = examine(data)
    if as_json:
        terminal.document({"findings" if name == "problems" else name: value for name, value in asdict(report).items()})
    else:
        for one in report.problems:
            terminal.print((f"{one.check:<18}", "yellow"), one.problem)
            terminal.print((" " * 18 + one.advice, "dim"))
        for name, reason in report.unchecked.items():
            terminal.print((f"not checked: {name}: {reason}", "dim"))
        found, right = report.problems, f"Nothing is wrong ({', '.join(report.checked)})"
        terminal.print((counted(len(found), "finding"), "bold yellow") if found else (right, "bold green"))
    terminal.next("sakuin doctor" if report.problems else "sakuin status")
    raise typer.Exit(1 if report.problems else 0)


def describe(
    description: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="What it has, for whom: one line; an empty one deletes it.", show_default="show all"
        ),
    ] = None,
    folder: Annotated[str, typer.Option("--in", metavar="FOLDER", help="This folder.", show_default="all pages")] = "",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Say what the library, or a folder, is: agents read it before they search."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client = deployment(data)
        if description is not None:
            client.call("PUT", "descriptions", json={"folder": folder, "description": description})
        found = client.call("GET", "descriptions")["descriptions"]
    terminal.rows("descriptions", found)
    if not found and not as_json:
        terminal.print('There is none: sakuin describe "Mathematics for junior high schools"')


def gaps(
    gap: Annotated[str, typer.Argument(help="The id of a gap: show what a page for it would need.")] = "",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """List what was asked in the last 30 days without a good answer, the most frequent first."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        found = deployment(data).call("GET", "gaps", *filter(None, (gap,)))
    if as_json:
        terminal.document(found)
    elif gap:
        nearest = [f"{one['similarity']:.2f} {one['title']}  {one['id']}" for one in found["nearest"]]
        lists = {"words that nothing has": found["words"], "nearest": nearest, "asked": found["gap"]["questions"]}
        terminal.fields({"heading": found["heading"], **{name: "\n".join(lines) for name, lines in lists.items()}})
        terminal.next(f"sakuin explain {shlex.quote(found['gap']['name'])}")
    else:
        terminal.rows("gaps", [{name: row[name] for name in _GAP} for row in found["gaps"]])
        if not found["is_recorded"]:
            terminal.print("Questions are not recorded: deploy with RecordRefusedQuestions=true")
        elif not found["gaps"]:
            terminal.print("No question was without a good answer")
        if found["gaps"]:
            terminal.next(f"sakuin gaps {found['gaps'][0]['id']}")
