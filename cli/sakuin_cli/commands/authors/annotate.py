"""`sakuin annotate`: proposes and writes ids for boxes that have none."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid, UnreadablePage

from sakuin_cli.files import read_bytes, write_bytes
from sakuin_cli.options import JsonOption
from sakuin_cli.terminal import OnProgress, Terminal, counted, reporting_errors, tracked

if TYPE_CHECKING:
    from sakuin_cli.annotation.boxes import AnnotatedFile
    from sakuin_cli.annotation.slugs import Slugs

_WHY = {
    "exercise": "exercises",
    "decoration": "without a title or a sentence",
    "template": "made by a template: write the id there",
    "other-id": "with an id of another kind: rename it if nothing links to it",
}
# What an author may want to look at one by one.
_LISTED = ("template", "other-id")


def annotate(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", exists=True, help="Folders or files: templates, sources, built pages."),
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Write the ids into the files, and change nothing else.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a box has no id, for CI.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Propose an id for each box that explains something and has none."""
    if write and check:
        raise typer.BadParameter("--write and --check exclude each other", param_hint="--check")
    with reporting_errors(as_json) as terminal:
        with terminal.progress("read") as on_progress:
            files = _annotated(paths, _selectors(), on_progress, write=write)
        terminal.answer(_document(files, write), lambda: _show(terminal, files, write))
    failed = any(file.error for file in files) or (check and any(file.proposed for file in files))
    raise typer.Exit(1 if failed else 0)


def _selectors() -> tuple[str, ...]:
    from sakuin.settings import css_selectors

    configured = os.environ.get("SAKUIN_BOX_SELECTORS", "")
    return css_selectors(configured) if configured.strip() else ()


def _annotated(
    paths: Iterable[Path], selectors: Sequence[str], on_progress: OnProgress, *, write: bool
) -> "list[AnnotatedFile]":
    from sakuin.language.vocabulary import vocabulary_of
    from sakuin.retrieval.index_version import DEFAULT_VOCABULARY

    from sakuin_cli.annotation.slugs import Slugs

    sources = _sources(tuple(paths))
    slugs = Slugs(vocabulary_of(DEFAULT_VOCABULARY))
    return [_annotated_file(path, selectors, slugs, write=write) for path in tracked(sources, "read", on_progress)]


def _sources(paths: Sequence[Path]) -> list[str]:
    """Returns the files that may have boxes, each once. A file that was named is one, whatever its suffix."""
    from sakuin_cli.annotation.source import SUFFIXES
    from sakuin_cli.site.uploads import files_below

    found: dict[Path, str] = {}
    for root in paths:
        for path, place in files_below(root):
            is_source = place.lower().endswith(SUFFIXES) and "node_modules" not in place.split("/")
            if root.is_file() or is_source:
                found.setdefault(Path(path).resolve(), path)
    if not found:
        where = ", ".join(path.as_posix() for path in paths)
        raise Invalid(f"There is no source of a page in {where}: name a folder with {', '.join(SUFFIXES[:5])} files")
    return list(found.values())


def _annotated_file(path: str, selectors: Sequence[str], slugs: "Slugs", *, write: bool) -> "AnnotatedFile":
    from sakuin_cli.annotation.boxes import AnnotatedFile, find_boxes
    from sakuin_cli.annotation.source import read_source

    try:
        source = read_source(read_bytes(path), suffix=Path(path).suffix)
        found = find_boxes(source, selectors, slugs, path=path)
        ids = {box.position: box.id for box in found.proposed if box.id and box.position is not None}
        if write and ids:
            write_bytes(Path(path), source.with_ids(ids))
    except UnreadablePage as error:
        return AnnotatedFile(path, error=str(error))
    return found


def _document(files: "Sequence[AnnotatedFile]", write: bool) -> dict[str, object]:
    proposed = sum(len(file.proposed) for file in files)
    return {
        "files": len(files),
        "boxes": sum(file.total for file in files),
        "proposed": proposed,
        "written": proposed if write else 0,
        "ids": [
            {"path": file.path, "line": box.line, "id": box.id, "type": box.type, "title": box.title}
            for file in files
            for box in file.proposed
        ],
        "left_out": [
            {"path": file.path, "line": box.line, "title": box.title, "reason": box.reason}
            for file in files
            for box in file.boxes
            if box.reason
        ],
        "first_ids": [file.path for file in files if file.are_first_ids],
        "failed": [{"path": file.path, "reason": file.error} for file in files if file.error],
    }


def _show(terminal: Terminal, files: "Sequence[AnnotatedFile]", write: bool) -> None:
    from rich.text import Text

    out = terminal.out
    for file in files:
        listed = [box for box in file.boxes if box.id or box.reason in _LISTED]
        if not listed and not file.error:
            continue
        out.print(Text(file.path, "bold"))
        if file.error:
            out.print(Text.assemble("  ", ("failed  ", "red"), file.error))
        width = max((len(box.id or "") for box in listed), default=0)
        for box in listed:
            shown = (f"{box.id:<{width}}", "green") if box.id else (f"{'–':<{width}}", "yellow")
            why = "" if box.id else f"  ({_WHY[box.reason or '']})"
            out.print(Text.assemble((f"{box.line:>6}  ", "dim"), shown, f"  {box.title}", (why, "yellow")))
        out.print()
    boxes = [box for file in files for box in file.boxes]
    proposed = sum(1 for box in boxes if box.id)
    total = sum(file.total for file in files)
    done = "written" if write else "proposed"
    style = "bold green" if write or not proposed else "bold yellow"
    found = f"{total:,} {'box' if total == 1 else 'boxes'} in {counted(len(files), 'file')}"
    out.print(Text(f"{found}, {counted(proposed, 'id')} {done}", style))
    for reason, why in _WHY.items():
        if number := sum(box.reason == reason for box in boxes):
            out.print(Text(f"{number:,} left out: {why}", "dim"))
    if first := sum(file.are_first_ids for file in files):
        said = f"{counted(first, 'file')} without any id so far: its headings are indexed until now, then its ids"
        out.print(Text(f'{said}. For both add <meta name="sakuin:index" content="headings">', "yellow"))
    if proposed and not write:
        out.print(Text("Write them with --write", "dim"))
