"""`sakuin rm`: deletes pages, folders, `learns.yml` and `synonyms.yml` and waits until the index has followed."""

import time
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.options import AUTHORED_FILES, TimeoutOption
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin_cli.site.changes import Change
    from sakuin_cli.site.library import LibraryFiles


def rm(
    command: ChangingCommand,
    materials: Annotated[
        list[str],
        typer.Argument(
            metavar="PAGE",
            help="Names as in search results, folders, or the path of a learns.yml or synonyms.yml in the library.",
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Delete a folder without a question.")] = False,
    timeout: TimeoutOption = 300,
) -> None:
    """Delete pages, folders, learns.yml or synonyms.yml and wait until the index has followed.

    A folder is deleted with all that is below it, after a question or with --yes.
    """
    from sakuin.knowledge.names import material_of_key

    from sakuin_cli.site.changes import remove_keys

    terminal, library = command.terminal, command.library()
    began = time.monotonic()
    names = dict.fromkeys(unicodedata.normalize("NFC", name) for name in materials)
    stored = library.etags()
    keys = {name: key for name in names if (key := _key(library, stored, name))}
    folders = {name: some for name in names if name not in keys and (some := _keys_below(library, stored, name))}
    below = {key: material_of_key(key, prefix=library.prefix) or key for some in folders.values() for key in some}
    if below and not yes:
        heading = f"These {counted(len(below), 'file')} are below {' and '.join(folders)}"
        command.confirm(heading, [*below], f"Delete {counted(len(below), 'file')}?", "Add --yes to delete them")
    found: list[tuple[str, str | None]] = [*(below | {key: name for name, key in keys.items()}).items()]
    missing = [_missing(name) for name in names if name not in keys | folders]
    if command.dry_run:
        command.would(*(f"delete {key}" for key, _ in found), *(f"{one.material}: {one.reason}" for one in missing))
    with terminal.progress("removed") as on_progress:
        removed = remove_keys(library, found, seconds=timeout, on_progress=on_progress)
    changes = sorted((*removed, *missing), key=lambda change: change.material or "")
    seconds = time.monotonic() - began
    terminal.answer(_document(changes, seconds), lambda: _show(terminal, changes, seconds))
    raise typer.Exit(0 if all(one.done for one in changes) else 1)


def _key(library: "LibraryFiles", stored: Collection[str], name: str) -> str | None:
    """Returns the stored key of a material or of a `learns.yml`, whose spelling may differ; None without one."""
    if name.rpartition("/")[2] in AUTHORED_FILES:
        key = f"{library.prefix}{name.strip('/')}"
        return key if key in stored else None
    record = library.client.material(name) or library.client.material(name.removesuffix(".html"))
    return None if record is None else record["key"]


def _keys_below(library: "LibraryFiles", stored: Collection[str], name: str) -> list[str]:
    """Returns the stored keys below a folder; none for a name that is no folder."""
    from sakuin_cli.site.plan import keys_below
    from sakuin_cli.site.uploads import folder_path

    folder = folder_path(name)
    return keys_below(f"{library.prefix}{folder}", stored) if folder else []


def _missing(name: str) -> "Change":
    from sakuin_cli.site.changes import Change

    kind = "file" if name.rpartition("/")[2] in AUTHORED_FILES else "material"
    reason = f"there is no such {kind}; `sakuin list` shows the names"
    return Change(None, name, None, None, "not_removed", reason)


def _reason(change: "Change") -> dict[str, str | None]:
    return {"material": change.material, "key": change.key, "reason": change.reason or change.outcome}


def _document(changes: "Sequence[Change]", seconds: float) -> dict[str, object]:
    failed = [one for one in changes if not one.done]
    stated = ("material", "key", "version_id", "outcome")
    return {
        "removed": len(changes) - len(failed),
        "failed": [_reason(one) for one in failed if one.outcome != "pending"],
        "pending": [_reason(one) for one in failed if one.outcome == "pending"],
        "materials": [{name: getattr(one, name) for name in stated} for one in changes],
        "seconds": round(seconds, 3),
    }


def _show(terminal: Terminal, changes: "Sequence[Change]", seconds: float) -> None:
    failed = [one for one in changes if not one.done]
    for one in failed:
        sign = ("…", "yellow") if one.outcome == "pending" else ("✗", "red")
        terminal.line(*sign, f"{one.material}  {one.reason or one.outcome}")
    summary = f"{len(changes) - len(failed)} of {len(changes)} removed, in {seconds:.1f} s"
    terminal.print((summary, "bold red" if failed else "bold"))
