"""`sakuin learns`: the work order for whoever writes `learns`, and the check of what comes back."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Misconfigured

from sakuin_cli.connections import Command
from sakuin_cli.options import FolderArgument, PrefixOption
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin.knowledge.page import Finding

    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.site.learns import LearnsOfSite


def learns(
    command: Command,
    folder: FolderArgument = None,
    prefix: PrefixOption = "",
    check: Annotated[
        bool, typer.Option("--check", help="Check the items that are written, also by asking the deployment.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Check, and note in learns.lock that the others fit their texts.")
    ] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions", metavar="FILE", dir_okay=False, help="Golden questions: the order names those that fail."
        ),
    ] = None,
    asked: Annotated[
        bool, typer.Option("--asked", help="Also what readers of the deployment asked without a good answer.")
    ] = False,
) -> None:
    """Print a work order for missing, weak and stale learns, for any agent; or check what is written.

    With --check the exit code is 1 if an item is refused.
    """
    from sakuin_cli.site.config import site_of
    from sakuin_cli.site.learns import learns_of_site, lock_of
    from sakuin_cli.site.uploads import no_page_in, uploads_below

    terminal, site = command.terminal, site_of([folder] if folder else None, prefix)
    uploads = uploads_below(site.paths, folder=site.prefix)
    if not uploads.pages:
        raise no_page_in(site.paths)
    client = _client(command, is_needed=asked)
    with terminal.progress("read") as on_progress:
        read = learns_of_site(uploads, on_progress, lock=lock_of(site.paths[0]))
    if check or accept:
        _check(terminal, read, client, site.paths[0] if accept else None)
    _order(terminal, read, client if asked or questions else None, questions, asked, site.paths[0])


def _client(command: Command, *, is_needed: bool) -> "DeploymentClient | None":
    """Returns a client of the deployment; None if there is none and none is needed."""
    try:
        return command.client
    except Misconfigured:
        if is_needed:
            raise
        return None


def _check(terminal: Terminal, site: "LearnsOfSite", client: "DeploymentClient | None", folder: Path | None) -> None:
    """Prints a table of the written sections and what is refused, and ends the command."""
    from sakuin_cli.site.learns import accept, id_of

    elsewhere: list[Finding] = []
    unasked = [one.id for one in site.sections if one.items]
    if client:
        with terminal.progress("asked") as on_progress:
            elsewhere, unasked = site.answered_elsewhere(client, on_progress)
    stale = [] if folder else [*site.stale()]
    refused = [*site.findings, *site.promises(), *elsewhere, *stale]
    refused_ids = set(map(id_of, refused))
    accepted = accept(folder, site, refused_ids) if folder else 0
    rows: list[dict[str, int | str]] = [
        {"section": one.id, "items": len(one.items), "check": "refused" if one.id in refused_ids else "ok"}
        for one in site.sections
        if one.items
    ]
    document = {"sections": rows, "refused": list(map(asdict, refused)), "unasked": unasked, "accepted": accepted}
    terminal.answer(document, lambda: _show_check(terminal, rows, refused, len(unasked), accepted))
    raise typer.Exit(1 if refused else 0)


def _show_check(
    terminal: Terminal, rows: "list[dict[str, int | str]]", refused: "list[Finding]", unasked: int, accepted: int
) -> None:
    terminal.rows("sections", rows)
    for one in refused:
        terminal.print((f"{one.rule:<17} ", "yellow"), f"{one.material}  {one.message}")
    if unasked:
        terminal.print(f"{counted(unasked, 'section')} not asked: push them to a deployment, and check again")
    if accepted:
        terminal.print(f"{counted(accepted, 'section')} accepted in learns.lock")
    terminal.print((f"{counted(len(refused), 'problem')}", "bold yellow" if refused else "bold green"))


def _order(
    terminal: Terminal,
    site: "LearnsOfSite",
    client: "DeploymentClient | None",
    file: Path | None,
    asked: bool,
    folder: Path,
) -> None:
    """Prints the work order; ends the command with exit code 1 if a file cannot be read."""
    from sakuin_cli.evaluation.questions import questions_in
    from sakuin_cli.site.learns import asked_questions, markdown_of, weak_questions, work_order

    wanted = questions_in(file)[0] if file else []
    if client:
        with terminal.progress("asked") as on_progress:
            wanted = weak_questions(client, [*wanted, *(asked_questions(client) if asked else ())], on_progress)
    order = work_order(site, [*site.findings, *site.promises(), *site.stale()], wanted)
    terminal.answer(order, lambda: typer.echo(markdown_of(order, site.sections, folder.as_posix())))
    raise typer.Exit(1 if any(one.severity == "error" for one in site.findings) else 0)
