"""`sakuin watch`: indexes pages when they are saved."""

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import SakuinError

from sakuin_cli.commands.authors.push import plan_push, push_plan
from sakuin_cli.connections import library_of, settings_of
from sakuin_cli.options import DataOption, FolderArgument, JsonOption, PrefixOption, TimeoutOption
from sakuin_cli.terminal import Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.rest import Record


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
    """Push a folder, then index each page when it is saved and print what changed; Ctrl-C ends it.

    With --json it prints one line for the push and one for each changed file.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import config_file, site_of
        from sakuin_cli.site.report import show_push
        from sakuin_cli.site.watch import Follower, saved

        site = site_of([folder] if folder else None, prefix)
        if whole and site.prefix:
            raise typer.BadParameter("It needs no --prefix", param_hint="--whole")
        settings = settings_of(data)
        library, selectors = library_of(settings), settings.box_selectors
        began = time.monotonic()
        plan = plan_push(site, library, selectors, replace=whole, delete=whole, whole=whole, lose=whole)
        document = push_plan(terminal, plan, library, delete=whole, seconds=timeout, began=began)
        follower = Follower(library, selectors, site, delete or whole, timeout, whole, terminal.waiting)
        follower.remember()
        if as_json:
            typer.echo(json.dumps(document, ensure_ascii=False))
        else:
            show_push(terminal, document)
            terminal.print(f"watching {site.paths[0]}; Ctrl-C ends it")
        files = [file for path in site.paths if (file := config_file(path.resolve()))]
        follower.follow(saved((*site.paths, *files)), partial(show_change, terminal), partial(_show_error, terminal))


def show_change(terminal: Terminal, row: "Record") -> None:
    """Prints what became of a file: + rule-a (new)  ~ rule-b (changed)  - tip-c (gone)."""
    if terminal.as_json:
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    what = "" if row["explanations"] is None else f": {counted(row['explanations'], 'explanation')}"
    what += f", {counted(row['lost'], 'word')} lost" if row["lost"] else ""
    signs = (("+", "added"), ("~", "changed"), ("-", "removed"))
    anchors = "".join(f"  {sign} {anchor}" for sign, name in signs for anchor in row[name])
    is_done = row["outcome"] in ("applied", "superseded")
    sign = ("✓", "green") if is_done else ("!", "yellow") if row["outcome"] == "kept" else ("✗", "red")
    deleted, reason = " deleted" if row["deleted"] else "", f"  {row['reason']}" if row["reason"] else ""
    terminal.line(*sign, f"{row['material']}{deleted}{what}{anchors}{reason}  ({row['seconds']:.1f} s)")


def _show_error(terminal: Terminal, error: SakuinError) -> None:
    if terminal.as_json:
        typer.echo(json.dumps({"error": str(error)}, ensure_ascii=False))
    else:
        terminal.line("✗", "red", f"{error}. The next save tries again")
