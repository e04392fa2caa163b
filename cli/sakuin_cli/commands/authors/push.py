"""`sakuin push`: uploads pages and waits until they are searchable."""

import dataclasses
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import library_of, settings_of
from sakuin_cli.options import DataOption, JsonOption, PathsArgument, PrefixOption, TimeoutOption, check_paths
from sakuin_cli.terminal import Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.site.config import Site
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.plan import Plan
    from sakuin_cli.site.report import Document


def push(
    paths: PathsArgument = None,
    prefix: PrefixOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    delete: Annotated[
        bool,
        typer.Option(
            "--delete",
            help="Then delete what the library has below --prefix (without it: in the first folders that you push) and "
            "your folders have not; it lists that and asks.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete, and push pages that lose many sections, without a question.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a learns.yml or synonyms.yml drop entries of the one in the library.")
    ] = False,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Upload pages and wait until they are searchable.

    The pages of a folder keep their paths below it.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import site_of
        from sakuin_cli.site.report import plan_document, show_plan, show_push
        from sakuin_cli.site.uploads import no_page_in

        site = site_of(paths, prefix)
        check_paths(site.paths)
        if delete and not all(path.is_dir() for path in site.paths):
            raise typer.BadParameter("It needs folders: it deletes what is not in them", param_hint="--delete")
        settings = settings_of(data)
        library = library_of(settings)
        began = time.monotonic()
        plan = plan_push(site, library, settings.box_selectors, replace=replace, delete=delete, lose=yes)
        if not plan.uploads.files and not plan.uploads.clashes:
            raise no_page_in(site.paths)
        if dry_run:
            document = plan_document(plan, library)
        else:
            if delete and plan.gone and not yes:
                terminal.confirm(
                    "These are in the library and not in your folders",
                    plan.gone,
                    f"Delete {counted(len(plan.gone), 'file')}?",
                    "Add --yes to delete them, or leave --delete out",
                )
            # A key that pushes writes pages, and no word about them.
            if site.description is not None and settings.admin_key:
                described = {"folder": site.prefix, "description": site.description}
                library.client.call("PUT", "descriptions", json=described)
            document = push_plan(terminal, plan, library, delete=delete, seconds=timeout, began=began)
    if as_json:
        terminal.document(document)
    elif dry_run:
        show_plan(terminal, document, deleting=delete)
    else:
        show_push(terminal, document)
    raise typer.Exit(1 if document["failed"] or document.get("pending") else 0)


def push_plan(
    terminal: Terminal, plan: "Plan", library: "LibraryFiles", *, delete: bool, seconds: float, began: float
) -> "Document":
    """Uploads what the plan accepts, then deletes what is gone, and waits at most `seconds` for the index.

    `began` is when the push did, on the monotonic clock. Asks before, if pages would lose many explanations.
    """
    from sakuin_cli.site.changes import await_learns, not_uploaded, push_files, remove_keys
    from sakuin_cli.site.report import push_document

    if plan.losses:
        terminal.confirm(
            "Nothing was uploaded, because pages would lose too much",
            plan.losses.values(),
            f"Push {'it' if len(plan.losses) == 1 else 'them'} all the same?",
            "Build the site again, or add --yes to `sakuin push` if that is wanted",
        )
    gone = [(key, key) for key in plan.gone] if delete else []
    with terminal.progress("uploaded", "searchable", *(("removed",) if gone else ())) as on_progress:
        files = push_files(library, plan.accepted, seconds=seconds, on_progress=on_progress)
        if any(one.material is None for one in files):
            files = await_learns(library, files, seconds=seconds)
        deleted = remove_keys(library, gone, seconds=seconds, on_progress=on_progress)
    refused = [not_uploaded(one, plan.refused[one.key]) for one in plan.uploads.files if one.key in plan.refused]
    return push_document(plan, (*files, *refused), deleted, library, time.monotonic() - began)


def plan_push(
    site: "Site",
    library: "LibraryFiles",
    box_selectors: Sequence[str],
    *,
    replace: bool = False,
    delete: bool = False,
    whole: bool = False,
    lose: bool = False,
    pushed: Collection[str] = (),
) -> "Plan":
    """Compares the files of a site with the library. With `lose`, pages may lose many explanations.

    `pushed` are ETags of files whose entries are of this site.
    """
    from sakuin_cli.site.plan import losses_of, plan_of
    from sakuin_cli.site.uploads import uploads_below

    uploads = uploads_below(site.paths, folder=site.prefix, material_prefix=library.prefix)
    plan = plan_of(library, uploads, site, replacing=replace, deleting=delete, whole=whole, pushed=pushed)
    changed = [page for page in plan.accepted.pages if plan.states[page.key] == "changed" and not lose]
    return dataclasses.replace(plan, losses=losses_of(library.client, changed, box_selectors))
