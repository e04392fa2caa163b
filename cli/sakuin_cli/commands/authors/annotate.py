"""`sakuin annotate`: proposes and writes ids for boxes that have none."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import UnreadablePage

from sakuin_cli.connections import Command
from sakuin_cli.files import read_bytes, write_bytes
from sakuin_cli.terminal import Terminal, counted, tracked

if TYPE_CHECKING:
    from sakuin.language.vocabulary import Vocabulary

    from sakuin_cli.annotation.boxes import Box


def annotate(
    command: Command,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", exists=True, help="Folders or files of HTML.")],
    write: Annotated[bool, typer.Option("--write", help="Write the ids, and change nothing else.")] = False,
) -> None:
    """Propose an id for each box that explains something and has none."""
    from sakuin.language.vocabulary import vocabulary_of
    from sakuin.retrieval.index_version import DEFAULT_VOCABULARY

    vocabulary, sources = vocabulary_of(DEFAULT_VOCABULARY), _sources(paths)
    boxes: list[tuple[str, Box]] = []
    failed: dict[str, str] = {}
    with command.terminal.progress("read") as on_progress:
        for path in tracked(sources, "read", on_progress):
            try:
                boxes += ((path, box) for box in _annotated(path, vocabulary, write=write))
            except UnreadablePage as error:
                failed[path] = str(error)
    proposed = sum(box.id is not None for _, box in boxes)
    document = {
        **{"files": len(sources), "proposed": proposed, "written": proposed if write else 0},
        "boxes": [{"path": path, **asdict(box)} for path, box in boxes],
        "failed": [{"path": path, "reason": reason} for path, reason in failed.items()],
    }
    done = f"{'written' if write else 'proposed'} in {counted(len(sources), 'file')}"
    command.terminal.answer(document, lambda: _show(command.terminal, boxes, failed, done))
    raise typer.Exit(1 if failed else 0)


def _sources(paths: Sequence[Path]) -> list[str]:
    """Returns the files that may have boxes, each once."""
    from sakuin_cli.site.uploads import files_below, is_page, no_page_in

    found = {Path(path).resolve(): path for root in paths for path, _ in files_below(root) if is_page(path)}
    if not found:
        raise no_page_in(paths)
    return list(found.values())


def _annotated(path: str, vocabulary: "Vocabulary", *, write: bool) -> "list[Box]":
    from sakuin.knowledge.page import css_selectors

    from sakuin_cli.annotation.boxes import find_boxes
    from sakuin_cli.annotation.source import read_source

    configured = os.environ.get("SAKUIN_BOX_SELECTORS", "").strip()
    source = read_source(read_bytes(path), path)
    boxes = find_boxes(source, css_selectors(configured) if configured else (), vocabulary)
    ids = {box.position: box.id for box in boxes if box.id and box.position is not None}
    if write and ids:
        write_bytes(Path(path), source.with_ids(ids))
    return boxes


def _show(terminal: Terminal, boxes: "list[tuple[str, Box]]", failed: dict[str, str], done: str) -> None:
    for path, reason in failed.items():
        terminal.line("✗", "red", f"{path}  {reason}")
    for path, box in boxes:
        said = f"{box.id}  {box.title}" if box.id else f"{box.title}  ({box.reason})"
        terminal.line("+" if box.id else " ", "green", f"{path}:{box.line}  {said}")
    proposed = sum(box.id is not None for _, box in boxes)
    terminal.print(f"{counted(proposed, 'id')} {done}, {len(boxes) - proposed} left out")
