"""`sakuin reconcile`: compares the index with its sources and repairs differences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import OnProgress, Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

_OF_MATERIALS = ("keys", "rows")
_OF_TABLES = ("tables",)


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show differences and change nothing.")] = False,
    materials: Annotated[bool, typer.Option("--materials", help="Only pages: bucket and index.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Only Tables: records and turbopuffer.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Compare the index with its sources and repair differences; exit code 1 if there were any.

    Repairs go through the queues: run it again until nothing differs. It also rebuilds an empty index.
    """
    with reporting_errors(as_json) as terminal:
        every = materials == tables
        kinds = (*(_OF_MATERIALS if materials or every else ()), *(_OF_TABLES if tables or every else ()))
        client = deployment(data)
        with terminal.progress(*kinds) as on_progress:
            found = _differences(client, kinds, dry_run, on_progress)
    terminal.answer({"dry_run": dry_run, "findings": found}, lambda: _show(terminal, found, dry_run=dry_run))
    raise typer.Exit(1 if found else 0)


def _differences(
    client: "DeploymentClient", kinds: Sequence[str], dry_run: bool, on_progress: OnProgress
) -> "list[Record]":
    """Returns the differences of each part, page by page."""
    found: list[Record] = []
    for kind in kinds:
        for number, some in enumerate(client.reconcile(kind, dry_run=dry_run), 1):
            found += some
            on_progress(kind, number, None)
    return found


def _show(terminal: Terminal, found: "Sequence[Record]", *, dry_run: bool) -> None:
    for one in found:
        done = f" (without --dry-run: {one['repair']})" if dry_run else f" → {one['repair']}"
        where = (one["where"], "bold")
        terminal.print((f"{one['rule']:<10}", "yellow"), where, f"  {one['message']}", (done, "dim"))
    if not found:
        terminal.print(("The index matches its sources.", "bold green"))
        return
    rest = "nothing was changed" if dry_run else "run it again in a moment to check the repairs"
    terminal.print((f"{counted(len(found), 'finding')}; {rest}", "bold yellow"))
