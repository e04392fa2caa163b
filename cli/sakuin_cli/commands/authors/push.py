"""`sakuin push`: uploads pages and waits until they are searchable."""

import sys
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import bucket_of, deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption, PathsArgument, PrefixOption, TimeoutOption, check_paths
from sakuin_cli.terminal import Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.settings import CommandSettings
    from sakuin_cli.site.config import Site
    from sakuin_cli.site.plan import Plan
    from sakuin_cli.site.report import Pushed

_NAMED = 20


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
    yes: Annotated[bool, typer.Option("--yes", help="Delete without a question, where nobody can answer.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a learns.yml or synonyms.yml drop entries of the one in the library.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="List every page and every skipped file.")] = False,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Upload pages and wait until they are searchable.

    The pages of a folder keep their paths below it.
    """
    with reporting_errors(as_json) as terminal:
        from sakuin_cli.site.config import site_of
        from sakuin_cli.site.report import plan_document, push_document, show_plan, show_push

        site = site_of(paths, prefix)
        check_paths(site.paths)
        if delete and not all(path.is_dir() for path in site.paths):
            raise typer.BadParameter("It needs folders: it deletes what is not in them", param_hint="--delete")
        settings = settings_of(data)
        began = time.monotonic()
        plan = plan_push(site, settings, replace=replace, delete=delete)
        if dry_run:
            document = plan_document(plan, deployment_of(settings), settings)
        else:
            if delete and plan.gone and not yes:
                _confirm(plan.gone, as_json=as_json)
            pushed = push_plan(terminal, plan, settings, delete=delete, seconds=timeout)
            seconds = time.monotonic() - began
            document = push_document(pushed, seconds)
    if as_json:
        terminal.document(document)
    elif dry_run:
        show_plan(terminal, document, deleting=delete, verbose=verbose)
    else:
        show_push(terminal, pushed, seconds, verbose=verbose)
    raise typer.Exit(1 if document["failed"] or document.get("pending") else 0)


def push_plan(
    terminal: Terminal, plan: "Plan", settings: "CommandSettings", *, delete: bool, seconds: float
) -> "Pushed":
    """Uploads what the plan accepts, then deletes what is gone, and waits at most `seconds` for the index."""
    from sakuin_cli.site.changes import not_uploaded, push_files, remove_keys
    from sakuin_cli.site.report import pushed_of

    bucket, client = bucket_of(settings), deployment_of(settings)
    gone = [(key, key) for key in plan.gone] if delete else []
    with terminal.progress("uploaded", "searchable", *(("removed",) if gone else ())) as on_progress:
        files = push_files(bucket, client, plan.accepted, seconds=seconds, on_progress=on_progress)
        deleted = remove_keys(bucket, client, gone, seconds=seconds, on_progress=on_progress)
    refused = [not_uploaded(one, plan.refused[one.key]) for one in plan.uploads.files if one.key in plan.refused]
    return pushed_of(plan, (*files, *refused), deleted, client, settings)


def plan_push(site: "Site", settings: "CommandSettings", *, replace: bool, delete: bool) -> "Plan":
    """Compares the files of a site with the library; raises `Invalid` if there are none."""
    from sakuin_cli.site.plan import plan_of
    from sakuin_cli.site.uploads import uploads_below

    bucket, client, prefix = bucket_of(settings), deployment_of(settings), settings.material_prefix
    uploads = uploads_below(site.paths, folder=site.prefix, material_prefix=prefix)
    if not uploads.files and not uploads.clashes:
        where = ", ".join(path.as_posix() for path in site.paths)
        raise Invalid(f"There is no .html file and no learns.yml in {where}: name a folder of built pages")
    # A wrong key or address must fail before anything else.
    client.upload_results([])
    return plan_of(*(bucket, uploads, site), material_prefix=prefix, replacing=replace, deleting=delete)


def _confirm(keys: Collection[str], *, as_json: bool) -> None:
    """Asks whether to delete these keys; without a person at a terminal it is an error."""
    named = "\n".join(f"  {key}" for key in list(keys)[:_NAMED])
    more = f"\n  and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
    question = f"These are in the library and not in your folders:\n{named}{more}\n"
    if as_json or not sys.stdin.isatty():
        raise Invalid(f"{question}Add --yes to delete them, or leave --delete out")
    typer.confirm(f"{question}Delete {counted(len(keys), 'file')}?", abort=True, err=True)
