"""`sakuin rm`: pages leave the library."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, TimeoutOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.remove_pages import Removed, RemovedPage


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def rm(
        materials: Annotated[
            list[str], typer.Argument(metavar="MATERIAL", help="Pages, named as in search results: no .html.")
        ],
        timeout: TimeoutOption = 300,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Delete pages and wait until they can no longer be found."""
        terminal = Terminal(as_json)
        with terminal.reported():
            use_case = desk_of(data).remove()
            with terminal.progress() as progress:
                bar = progress.add_task("removed", total=None)
                removed = use_case(
                    materials,
                    seconds=timeout,
                    told=lambda done, total: progress.update(bar, completed=done, total=total),
                )
        if as_json:
            terminal.document(_document(removed))
        else:
            _show(terminal, removed)
        raise typer.Exit(1 if removed.failed else 0)


def _document(removed: "Removed") -> dict[str, object]:
    return {
        "removed": sum(page.done for page in removed.pages),
        "failed": [
            {"material": page.material, "key": page.key, "reason": page.reason or page.outcome}
            for page in removed.failed
        ],
        "materials": [_page(page) for page in removed.pages],
        "seconds": round(removed.seconds, 3),
    }


def _page(page: "RemovedPage") -> dict[str, object]:
    return {"material": page.material, "key": page.key, "version_id": page.version_id, "outcome": page.outcome}


def _show(terminal: Terminal, removed: "Removed") -> None:
    from rich.text import Text

    for page in removed.failed:
        reason = page.reason or page.outcome
        terminal.out.print(Text.assemble(("✗ ", "red"), f"{page.material}  {reason}"), soft_wrap=True)
    gone = sum(page.done for page in removed.pages)
    terminal.out.print(
        Text(
            f"{gone} of {len(removed.pages)} removed, in {removed.seconds:.1f} s",
            "bold red" if removed.failed else "bold",
        )
    )
