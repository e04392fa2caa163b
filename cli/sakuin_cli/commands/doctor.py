"""`sakuin doctor`: checks a deployment, or this machine, and says what to do."""

from dataclasses import asdict

import typer

from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import counted, reporting_errors


def doctor(as_json: JsonOption = False, data: DataOption = None) -> None:
    """Check the deployment from outside and inside, and say what to do; exit code 1 if something is wrong."""
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.doctor import examine

        with terminal.progress("checking"):
            report = examine(data)
    if as_json:
        terminal.document({"findings" if name == "problems" else name: value for name, value in asdict(report).items()})
    else:
        from rich.text import Text

        for one in report.problems:
            terminal.out.print(Text.assemble((f"{one.check:<18}", "yellow"), one.problem), soft_wrap=True)
            terminal.out.print(Text(" " * 18 + one.advice, "dim"), soft_wrap=True)
        for name, reason in report.unchecked.items():
            terminal.out.print(Text(f"not checked: {name}: {reason}", "dim"), soft_wrap=True)
        found, right = report.problems, f"Nothing is wrong ({', '.join(report.checked)})"
        text = Text(counted(len(found), "finding"), "bold yellow") if found else Text(right, "bold green")
        terminal.out.print(text, soft_wrap=True)
    raise typer.Exit(1 if report.problems else 0)
