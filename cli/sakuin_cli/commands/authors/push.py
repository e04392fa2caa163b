"""`sakuin push`: uploads pages, waits until they are searchable, and goes on with what is saved later."""

import dataclasses
import json
import shlex
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import SakuinError

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.options import PathsArgument, PrefixOption, TimeoutOption, check_paths
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin_cli.site.config import Site
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.plan import Plan
    from sakuin_cli.site.report import Document

# How many pages are read for a description.
_TITLES = 40


def push(
    command: ChangingCommand,
    paths: PathsArgument = None,
    prefix: PrefixOption = "",
    delete: Annotated[
        bool,
        typer.Option(
            "--delete",
            help="Then delete what the library has below --prefix (without it: in the first folders that you push) and "
            "your folders have not; it lists that and asks.",
        ),
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Delete all else: the folder is the whole library. It asks, too.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete, and push pages that lose many sections, without a question.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a learns.yml or synonyms.yml drop entries of the one in the library.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Then push what changes when files are saved, until Ctrl-C.")
    ] = False,
    timeout: TimeoutOption = 300,
) -> None:
    """Upload pages and wait until they are searchable.

    The pages of a folder keep their paths below it. With --watch and --json it prints a line for each push.
    """
    from sakuin_cli.site.config import site_of
    from sakuin_cli.site.report import plan_document, show_plan
    from sakuin_cli.site.uploads import no_page_in

    site = site_of(paths, prefix)
    check_paths(site.paths)
    if (delete or whole or watch) and not all(path.is_dir() for path in site.paths):
        raise typer.BadParameter("It needs folders", param_hint="--watch" if watch else "--delete")
    if whole and site.prefix:
        raise typer.BadParameter("It needs no --prefix", param_hint="--whole")
    terminal, delete = command.terminal, delete or whole
    pushing = Pushing(command, site, command.library(), delete=delete, whole=whole, replace=replace, seconds=timeout)
    began = time.monotonic()
    plan = pushing.plan(lose=yes)
    if not (plan.uploads.files or plan.uploads.clashes or whole):
        raise no_page_in(site.paths)
    # A key that pushes writes pages, and no word about them.
    description = site.description if command.settings.admin_key else None
    if command.dry_run:
        document = plan_document(plan, pushing.library, description)
        terminal.answer(document, lambda: show_plan(terminal, document, deleting=delete))
        raise typer.Exit(1 if document["failed"] else 0)
    if delete and plan.gone and not yes:
        terminal.confirm(
            "These are in the library and not in your folders",
            plan.gone,
            f"Delete {counted(len(plan.gone), 'file')}?",
            "Add --yes to delete them, or leave --delete out",
        )
    if description is not None:
        command.send("PUT", "descriptions", folder=site.prefix, description=description)
    document = pushing.push(plan, began=began)
    _show(terminal, document, is_line=watch)
    _offer_description(command, site, plan)
    if watch:
        pushing.watch(plan, yes=yes)
    raise typer.Exit(1 if document["failed"] or document["pending"] else 0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pushing:
    """Pushes of a site. `whole`: it is the whole library; `replace`: entries of others' files may be lost."""

    command: ChangingCommand = dataclasses.field(kw_only=False)
    site: "Site" = dataclasses.field(kw_only=False)
    library: "LibraryFiles" = dataclasses.field(kw_only=False)
    delete: bool
    whole: bool
    replace: bool
    seconds: float

    def plan(self, *, lose: bool = False, pushed: Collection[str] = ()) -> "Plan":
        """Compares the files of the site with the library. With `lose`, pages may lose many sections.

        `pushed` are ETags of files whose entries are of this site.
        """
        from sakuin_cli.site.plan import losses_of, plan_of
        from sakuin_cli.site.uploads import uploads_below

        uploads = uploads_below(self.site.paths, folder=self.site.prefix, material_prefix=self.library.prefix)
        options = {"replacing": self.replace, "deleting": self.delete, "whole": self.whole}
        plan = plan_of(self.library, uploads, self.site, **options, pushed=pushed)
        changed = [page for page in plan.accepted.pages if plan.states[page.key] == "changed" and not lose]
        losses = losses_of(self.library.client, changed, self.command.settings.box_selectors)
        return dataclasses.replace(plan, losses=losses)

    def push(self, plan: "Plan", *, began: float) -> "Document":
        """Uploads what the plan accepts, then deletes what is gone, and waits for the index.

        `began` is when the push did, on the monotonic clock. Asks before, if pages would lose many sections.
        """
        from sakuin_cli.site.changes import await_learns, not_uploaded, push_files, remove_keys
        from sakuin_cli.site.report import push_document

        terminal, seconds = self.command.terminal, self.seconds
        if plan.losses:
            terminal.confirm(
                "Nothing was uploaded, because pages would lose too much",
                plan.losses.values(),
                f"Push {'it' if len(plan.losses) == 1 else 'them'} all the same?",
                "Build the site again, or add --yes to `sakuin push` if that is wanted",
            )
        gone = [(key, key) for key in plan.gone] if self.delete else []
        with terminal.progress("uploaded", "searchable", *(("removed",) if gone else ())) as on_progress:
            files = push_files(self.library, plan.accepted, seconds=seconds, on_progress=on_progress)
            if any(one.material is None for one in files):
                files = await_learns(self.library, files, seconds=seconds)
            deleted = remove_keys(self.library, gone, seconds=seconds, on_progress=on_progress)
        refused = [not_uploaded(one, plan.refused[one.key]) for one in plan.uploads.files if one.key in plan.refused]
        return push_document(plan, (*files, *refused), deleted, self.library, time.monotonic() - began)

    def watch(self, plan: "Plan", *, yes: bool) -> None:
        """Pushes what changed after each save, and deletes what is deleted, without a question."""
        from sakuin_cli.site.config import config_file

        terminal = self.command.terminal
        if not terminal.as_json:
            terminal.print(f"watching {self.site.paths[0]}; Ctrl-C ends it")
        files = [file for path in self.site.paths if (file := config_file(path.resolve()))]
        before, tags = _keys(plan), _tags(plan)
        for _ in saved((*self.site.paths, *files)):
            began = time.monotonic()
            try:
                plan = self.plan(lose=yes, pushed=tags)
                here = _keys(plan)
                gone = plan.gone if self.whole else tuple(sorted(before - here)) if self.delete else ()
                changed = dataclasses.replace(_changed(plan), gone=gone)
                if changed.uploads.files or gone:
                    _show(terminal, self.push(changed, began=began), is_line=True)
                before, tags = here, tags | _tags(plan)
            except SakuinError as error:
                if terminal.as_json:
                    typer.echo(json.dumps({"error": str(error)}, ensure_ascii=False))
                else:
                    terminal.line("✗", "red", f"{error}. The next save tries again")


def _show(terminal: Terminal, document: "Document", *, is_line: bool) -> None:
    from sakuin_cli.site.report import show_push

    if terminal.as_json and is_line:
        typer.echo(json.dumps(document, ensure_ascii=False))
    else:
        terminal.answer(document, lambda: show_push(terminal, document))


def _offer_description(command: ChangingCommand, site: "Site", plan: "Plan") -> None:
    """Offers a description made from titles, if agents have none: a question, or a command to copy."""
    from sakuin.knowledge.page import Page

    from sakuin_cli.site.pages import local_page
    from sakuin_cli.titles import description_from

    folder = site.prefix.strip("/")
    if command.terminal.as_json or not command.settings.admin_key or not all(path.is_dir() for path in site.paths):
        return
    if any(one["folder"] in ("", folder) for one in command.client.call("GET", "descriptions")["descriptions"]):
        return
    pages = [local_page(one.path) for one in plan.accepted.pages[:_TITLES]]
    description = description_from([page.title for page in pages if isinstance(page, Page)])
    if not description:
        return
    if command.terminal.asks and typer.confirm(f"Agents read no description. Save {description!r}?", err=True):
        command.send("PUT", "descriptions", folder=folder, description=description)
    else:
        command.terminal.next(shlex.join(["sakuin", "describe", *(("--in", folder) if folder else ()), description]))


def _keys(plan: "Plan") -> set[str]:
    return {one.key for one in (*plan.uploads.files, *plan.uploads.clashes)}


def _tags(plan: "Plan") -> set[str]:
    """Returns the ETags of the files that were pushed."""
    return {tag for key, tag in plan.tags.items() if key not in plan.refused}


def _changed(plan: "Plan") -> "Plan":
    """Returns the plan without the files that the library has; pages that would lose much stay here."""
    files = tuple(one for one in plan.uploads.files if plan.states.get(one.key) != "unchanged")
    losses = {key: f"{loss}. `sakuin push --yes` pushes it" for key, loss in plan.losses.items()}
    uploads = dataclasses.replace(plan.uploads, files=files)
    return dataclasses.replace(plan, uploads=uploads, refused={**plan.refused, **losses}, losses={})


def saved(folders: Iterable[Path]) -> Iterator[object]:
    """Yields after files below the folders were saved and nothing has changed for half a second; ends with Ctrl-C."""
    from watchfiles import watch as changes

    try:
        # A generator may delete and write a whole site.
        yield from changes(*folders, debounce=5000, step=500)
    except KeyboardInterrupt:
        return
