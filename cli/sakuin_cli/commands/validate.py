"""`sakuin validate`: the index held against the HTML."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, PrefixOption, StrictOption
from sakuin_cli.paths import refuse_other_files
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin.domain.validation import Report


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def validate(
        paths: Annotated[
            list[Path] | None,
            typer.Argument(metavar="PATH", exists=True, help="Judge only these pages, as they are on this machine."),
        ] = None,
        strict: StrictOption = False,
        prefix: PrefixOption = "",
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Hold the index against the HTML; exit code 1 on errors.

        Without PATH the uploaded pages are judged, with --prefix those of one folder.
        """
        refuse_other_files(paths or ())
        terminal = Terminal(as_json)
        with terminal.reported():
            check = desk_of(data).check()
            with terminal.progress() as progress:
                bar = progress.add_task("checked", total=None)

                def told(done: int, total: int) -> None:
                    progress.update(bar, completed=done, total=total)

                if paths:
                    names = [path.as_posix() for path in paths]
                    report = check.local(names, folder=prefix, strict=strict, told=told)
                else:
                    report = check.whole(folder=prefix, strict=strict, told=told)
        if as_json:
            terminal.document(report.as_json())
        else:
            _show(terminal, report)
        raise typer.Exit(1 if report.errors else 0)


def _show(terminal: Terminal, report: "Report") -> None:
    from rich.text import Text

    out = terminal.out
    styles = {"error": "red", "warning": "yellow"}
    by_material = sorted(report.findings, key=lambda finding: finding.material)
    for material, findings in groupby(by_material, lambda finding: finding.material):
        out.print(Text(material, "bold"), soft_wrap=True)
        for finding in findings:
            style = styles[finding.severity]
            out.print(
                Text.assemble(
                    "  ", (f"{finding.severity:<8}", style), (f"{finding.rule:<16} ", "dim"), finding.message
                ),
                soft_wrap=True,
            )
        out.print()
    summary = f"{_counted(report.errors, 'error')}, {_counted(report.warnings, 'warning')}"
    out.print(Text(summary, "bold red" if report.errors else "bold yellow" if report.warnings else "bold green"))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
