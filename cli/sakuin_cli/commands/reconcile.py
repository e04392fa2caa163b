"""`sakuin reconcile`: the index compared with its sources, and repaired."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import OnProgress, Terminal, counted

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.views import Difference

_OF_MATERIALS = ("keys", "pages", "words", "learns")
_OF_TABLES = ("tables",)


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what differs and change nothing.")] = False,
    materials: Annotated[bool, typer.Option("--materials", help="Only pages: the bucket and the index.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Only Tables: the records and the store.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Compare the index with its sources and repair differences; exit code 1 if there were any.

    Repairs go through the queues: run it again until nothing differs. On an emptied index it builds everything.
    """
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        every = materials == tables
        kinds = (*(_OF_MATERIALS if materials or every else ()), *(_OF_TABLES if tables or every else ()))
        client = deployment(data)
        with terminal.progress(*kinds) as on_progress:
            found = _differences(client, kinds, dry_run, on_progress)
    if as_json:
        terminal.document({"dry_run": dry_run, "findings": found})
    else:
        _show(terminal, found, dry_run=dry_run)
    raise typer.Exit(1 if found else 0)


def _differences(
    client: "DeploymentClient", kinds: Sequence[str], dry_run: bool, on_progress: OnProgress
) -> "list[Difference]":
    """What differs, page by page of each part, in the order in which it was found."""
    found: list[Difference] = []
    for kind in kinds:
        after, pages = None, 0
        while after is not None or not pages:
            some, after = client.reconcile(kind, after, dry_run=dry_run)
            found += some
            pages += 1
            on_progress(kind, pages, None)
    return found


def _show(terminal: Terminal, found: "Sequence[Difference]", *, dry_run: bool) -> None:
    from rich.text import Text

    out = terminal.out
    for one in found:
        done = f" (without --dry-run: {one['repair']})" if dry_run else f" → {one['repair']}"
        rule, where = (f"{one['rule']:<10}", "yellow"), (one["where"], "bold")
        out.print(Text.assemble(rule, where, f"  {one['message']}", (done, "dim")), soft_wrap=True)
    if not found:
        out.print(Text("Everything is as its sources say.", "bold green"))
        return
    rest = "nothing was changed" if dry_run else "run it again in a moment to see whether it is right"
    out.print(Text(f"{counted(len(found), 'finding')}; {rest}", "bold yellow"), soft_wrap=True)
