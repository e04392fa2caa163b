"""`sakuin watch`: pushes what changed when files are saved."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import SakuinError

from sakuin_cli.commands.authors.push import plan_push, push_plan
from sakuin_cli.connections import library_of, settings_of
from sakuin_cli.options import DataOption, FolderArgument, JsonOption, PrefixOption, TimeoutOption
from sakuin_cli.terminal import Terminal, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.site.plan import Plan
    from sakuin_cli.site.report import Document


def watch(
    folder: FolderArgument = None,
    prefix: PrefixOption = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete from the library what is deleted here.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="The folder is the whole library: delete all else, now and later.")
    ] = False,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Push a folder, then what changed whenever files are saved; Ctrl-C ends it.

    With --json it prints a line for each push.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import config_file, site_of
        from sakuin_cli.site.uploads import no_page_in

        site = site_of([folder] if folder else None, prefix)
        if whole and site.prefix:
            raise typer.BadParameter("It needs no --prefix", param_hint="--whole")
        settings = settings_of(data)
        library = library_of(settings)
        planned = partial(plan_push, site, library, settings.box_selectors, replace=whole, whole=whole, lose=whole)
        pushed = partial(push_plan, terminal, library=library, seconds=timeout)
        plan = planned(delete=whole)
        if not (whole or _keys(plan)):
            raise no_page_in(site.paths)
        _show(terminal, pushed(plan, delete=whole, began=time.monotonic()))
        if not as_json:
            terminal.print(f"watching {site.paths[0]}; Ctrl-C ends it")
        files = [file for path in site.paths if (file := config_file(path.resolve()))]
        before, tags = _keys(plan), _tags(plan)
        for _ in saved((*site.paths, *files)):
            began = time.monotonic()
            try:
                plan = planned(delete=delete or whole, pushed=tags)
                here = _keys(plan)
                gone = plan.gone if whole else sorted(before - here) if delete else ()
                changed = replace(_changed(plan), gone=tuple(gone))
                if changed.uploads.files or gone:
                    _show(terminal, pushed(changed, delete=True, began=began))
                before, tags = here, tags | _tags(plan)
            except SakuinError as error:
                _show_error(terminal, error)


def _keys(plan: "Plan") -> set[str]:
    return {one.key for one in (*plan.uploads.files, *plan.uploads.clashes)}


def _tags(plan: "Plan") -> set[str]:
    """Returns the ETags of the files that were pushed."""
    return {tag for key, tag in plan.tags.items() if key not in plan.refused}


def _changed(plan: "Plan") -> "Plan":
    """Returns the plan without the files that the library has; pages that would lose much stay here."""
    files = tuple(one for one in plan.uploads.files if plan.states.get(one.key) != "unchanged")
    losses = {key: f"{loss}. `sakuin push --yes` pushes it" for key, loss in plan.losses.items()}
    return replace(plan, uploads=replace(plan.uploads, files=files), refused={**plan.refused, **losses}, losses={})


def _show(terminal: Terminal, document: "Document") -> None:
    from sakuin_cli.site.report import show_push

    if terminal.as_json:
        typer.echo(json.dumps(document, ensure_ascii=False))
    else:
        show_push(terminal, document)


def _show_error(terminal: Terminal, error: SakuinError) -> None:
    if terminal.as_json:
        typer.echo(json.dumps({"error": str(error)}, ensure_ascii=False))
    else:
        terminal.line("✗", "red", f"{error}. The next save tries again")


def saved(folders: Iterable[Path]) -> Iterator[object]:
    """Yields after files below the folders were saved and nothing has changed for half a second; ends with Ctrl-C."""
    from watchfiles import watch as changes

    try:
        # A generator may delete and write a whole site.
        yield from changes(*folders, debounce=5000, step=500)
    except KeyboardInterrupt:
        return
