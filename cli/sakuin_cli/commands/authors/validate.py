"""`sakuin validate`: findings about the pages in the bucket or on this machine."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from sakuin.knowledge.page import Words

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.options import PrefixOption, StrictOption, check_paths
from sakuin_cli.terminal import OnProgress, Terminal, counted, first_of

if TYPE_CHECKING:
    from sakuin.knowledge.page import Finding

    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

# A function has 30 seconds for a request, and reads each page again.
_PAGES_A_REQUEST = 50
# What `--repair` compares, by the names of the API.
_PARTS = ("keys", "rows", "tables")
# How many pages with the same finding are named.
_NAMED = 3


def validate(
    command: ChangingCommand,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", exists=True, help="Check only these pages, as they are on this machine; keys as in push."
        ),
    ] = None,
    strict: StrictOption = False,
    prefix: PrefixOption = "",
    offline: Annotated[
        bool, typer.Option("--offline", help="Check the files of PATH alone, without a deployment.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Compare pages with the bucket and Tables with their store, and repair.")
    ] = False,
) -> None:
    """Compare the index with the HTML; exit code 1 on errors.

    Without PATH it checks the uploaded pages, with --prefix those of one folder. Repairs go through the queues: run it
    again until nothing differs, with exit code 0. They also rebuild an empty index.
    """
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.site.uploads import folder_path, no_page_in, uploads_below

    check_paths(paths or ())
    if offline and not paths:
        raise typer.BadParameter("It needs PATH", param_hint="--offline")
    if repair and (paths or prefix or strict):
        raise typer.BadParameter("It needs no PATH, --prefix or --strict", param_hint="--repair")
    terminal = command.terminal
    if repair:
        _repair(command)
    settings = CommandSettings.read(os.environ) if offline else command.settings
    client = None if offline else command.client
    with terminal.progress("checked") as on_progress:
        if paths:
            from sakuin_cli.site.findings import local_findings
            from sakuin_cli.site.learns import lock_of

            uploads = uploads_below(paths, folder=prefix)
            if not uploads.pages and not uploads.clashes:
                raise no_page_in(paths)
            lock = {id: hash for path in paths for id, hash in lock_of(path).items()}
            found, books = local_findings(
                *(client, uploads, settings), folder=prefix, strict=strict, lock=lock, on_progress=on_progress
            )
        elif client:
            found, books = _uploaded_findings(client, folder_path(prefix), strict, on_progress)
    _report(terminal, found, books)


def _repair(command: ChangingCommand) -> NoReturn:
    """Compares the index with its sources and, but in a dry run, repairs differences; ends the command."""
    found: list[Record] = []
    with command.terminal.progress(*_PARTS) as on_progress:
        for part in _PARTS:
            for number, some in enumerate(command.client.reconcile(part, dry_run=command.dry_run), 1):
                found += some
                on_progress(part, number, None)
    document = {"dry_run": command.dry_run, "findings": found}
    command.terminal.answer(document, lambda: _show_repairs(command.terminal, found, dry_run=command.dry_run))
    raise typer.Exit(1 if found else 0)


def _show_repairs(terminal: Terminal, found: "Sequence[Record]", *, dry_run: bool) -> None:
    for one in found:
        done = f" (without --dry-run: {one['repair']})" if dry_run else f" → {one['repair']}"
        where = (one["where"], "bold")
        terminal.print((f"{one['rule']:<10}", "yellow"), where, f"  {one['message']}", (done, "dim"))
    rest = "nothing was changed" if dry_run else "run it again in a moment to check the repairs"
    summary = (f"{counted(len(found), 'finding')}; {rest}", "bold yellow")
    terminal.print(summary if found else ("The index matches its sources.", "bold green"))


def _report(terminal: Terminal, found: "Sequence[Finding]", books: "Sequence[Words]" = ()) -> None:
    """Prints findings, errors first, and ends the command with exit code 1 if there is an error."""
    order = ("error", "warning", "info")
    findings = sorted(found, key=lambda finding: (order.index(finding.severity), finding.material))
    errors = sum(finding.severity == "error" for finding in findings)
    terminal.answer(_document(findings, errors), lambda: _show(terminal, findings, errors, books))
    raise typer.Exit(1 if errors else 0)


def _uploaded_findings(
    client: "DeploymentClient", folder: str, strict: bool, on_progress: OnProgress
) -> "tuple[list[Finding], list[Words]]":
    """Returns findings about the pages in the bucket below `folder`, and their books."""
    books = [one["words"] for one in client.materials(prefix=folder)]
    total = len(books)
    findings: list[Finding] = []
    pages = client.findings(prefix=folder, strict=strict, limit=_PAGES_A_REQUEST)
    for number, found in enumerate(pages, 1):
        findings += found
        on_progress("checked", min(number * _PAGES_A_REQUEST, total), total)
    on_progress("checked", total, total)
    return findings, [Words(**words) for words in books if words]


def _document(findings: "Sequence[Finding]", errors: int) -> dict[str, object]:
    return {"errors": errors, "warnings": _warnings(findings), "findings": [asdict(finding) for finding in findings]}


def _show(terminal: Terminal, findings: "Sequence[Finding]", errors: int, books: "Sequence[Words]") -> None:
    styles = {"error": "red", "warning": "yellow", "info": "cyan"}
    for place, some in _by_place(findings).items():
        terminal.print((place, "bold"))
        for finding in some:
            severity = (f"{finding.severity:<8}", styles[finding.severity])
            terminal.print("  ", severity, (f"{finding.rule:<16} ", "dim"), finding.message)
        terminal.print()
    if books:
        terminal.print(str(Words.sum_of(books)))
    warnings = _warnings(findings)
    rules = Counter(finding.rule for finding in findings if finding.severity != "info").most_common()
    named = ", ".join(f"{count:,} {rule}" for rule, count in rules)
    summary = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}" + (f": {named}" if named else "")
    terminal.print((summary, "bold red" if errors else "bold yellow" if warnings else "bold green"))


def _by_place(findings: "Sequence[Finding]") -> "dict[str, list[Finding]]":
    """Returns the findings by page; what is the same on several pages comes once, by their number and first names."""
    same: dict[tuple[str, str, str], dict[str, Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.material):
        same.setdefault((finding.severity, finding.rule, finding.message), {})[finding.material] = finding
    places: dict[str, list[Finding]] = {}
    for pages in sorted(same.values(), key=lambda pages: len(pages) > 1):
        count = f"{len(pages):,} pages: " if len(pages) > 1 else ""
        places.setdefault(count + first_of(pages, _NAMED), []).extend(list(pages.values())[:1])
    return places


def _warnings(findings: "Sequence[Finding]") -> int:
    return sum(finding.severity == "warning" for finding in findings)
