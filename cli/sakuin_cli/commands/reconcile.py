"""`sakuin reconcile`: the index held against its sources, and brought to them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin.domain.reconciliation import Difference


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def reconcile(
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what differs and change nothing.")] = False,
        materials: Annotated[bool, typer.Option("--materials", help="Only pages: the bucket and the index.")] = False,
        tables: Annotated[bool, typer.Option("--tables", help="Only Tables: the records and the store.")] = False,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Hold the index against its sources and repair what differs; exit code 1 when something did.

        Repairs go through the queues: run it again until nothing differs. On an emptied index it builds everything.
        """
        terminal = Terminal(as_json)
        with terminal.reported():
            from sakuin_cli.reconcile_from_afar import OF_MATERIALS, OF_TABLES

            every = materials == tables
            kinds = (*(OF_MATERIALS if materials or every else ()), *(OF_TABLES if tables or every else ()))
            use_case = desk_of(data).reconcile()
            with terminal.progress() as progress:
                bars = {kind: progress.add_task(kind, total=None) for kind in kinds}

                def told(kind: str, pages: int) -> None:
                    progress.update(bars[kind], completed=pages)

                found = use_case(kinds, dry_run=dry_run, told=told)
        if as_json:
            terminal.document({"dry_run": dry_run, "findings": [asdict(one) for one in found]})
        else:
            _show(terminal, found, dry_run=dry_run)
        raise typer.Exit(1 if found else 0)


def _show(terminal: Terminal, found: Sequence["Difference"], *, dry_run: bool) -> None:
    from rich.text import Text

    out = terminal.out
    for one in found:
        done = f" (without --dry-run: {one.repair})" if dry_run else f" → {one.repair}"
        line = Text.assemble((f"{one.rule:<10}", "yellow"), (one.where, "bold"), f"  {one.message}", (done, "dim"))
        out.print(line, soft_wrap=True)
    if not found:
        out.print(Text("Everything is as its sources say.", "bold green"))
        return
    rest = "nothing was changed" if dry_run else "run it again in a moment to see whether it is right"
    number = "1 finding" if len(found) == 1 else f"{len(found)} findings"
    out.print(Text(f"{number}; {rest}", "bold yellow"), soft_wrap=True)
