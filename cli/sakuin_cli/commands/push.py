"""`sakuin push`: pages on this machine become searchable."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, PrefixOption, TimeoutOption
from sakuin_cli.paths import refuse_other_files
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.push_pages import Pushed, PushedFile

PathsArgument = Annotated[
    list[Path], typer.Argument(metavar="PATH", exists=True, help="Folders, .html files or a learns.yml.")
]


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the command."""

    @app.command()
    def push(
        paths: PathsArgument,
        prefix: PrefixOption = "",
        timeout: TimeoutOption = 300,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Upload pages and wait until they can be found.

        A folder's pages keep their paths below it.
        """
        refuse_other_files(paths)
        terminal = Terminal(as_json)
        with terminal.reported():
            use_case = desk_of(data).push()
            with terminal.progress() as progress:
                bars = {phase: progress.add_task(phase, total=None) for phase in ("uploaded", "searchable")}
                pushed = use_case(
                    [path.as_posix() for path in paths],
                    folder=prefix,
                    seconds=timeout,
                    told=lambda phase, done, total: progress.update(bars[phase], completed=done, total=total),
                )
        if as_json:
            terminal.document(_document(pushed))
        else:
            _show(terminal, pushed)
        raise typer.Exit(1 if pushed.failed else 0)


def _document(pushed: "Pushed") -> dict[str, object]:
    pages = [file for file in pushed.files if file.upload.material is not None]
    beside = [file for file in pushed.files if file.upload.material is None]
    learns = [file for file in beside if file.upload.key.endswith("learns.yml")]
    return {
        "pushed": sum(page.done for page in pages),
        "failed": [
            {"path": file.upload.path, "key": file.upload.key, "reason": file.reason or file.outcome}
            for file in pushed.failed
        ],
        "skipped": pushed.skipped,
        "pages": [{**_file(page), "material": page.upload.material} for page in pages],
        "learns_files": [{**_file(file), "reason": file.reason} for file in learns],
        "synonyms_files": [{**_file(file), "reason": file.reason} for file in beside if file not in learns],
        "seconds": round(pushed.seconds, 3),
    }


def _file(file: "PushedFile") -> dict[str, object]:
    upload = file.upload
    return {"path": upload.path, "key": upload.key, "version_id": file.version_id, "outcome": file.outcome}


def _show(terminal: Terminal, pushed: "Pushed") -> None:
    from rich.text import Text

    out = terminal.out
    for file in pushed.files:
        if not file.done:
            sign = Text(
                "… " if file.outcome in ("waiting", "pending") else "✗ ", "yellow" if file.version_id else "red"
            )
            out.print(sign.append_text(Text(f"{file.upload.path}  ", "default")), soft_wrap=True, end="")
            out.print(f"{_WORDS.get(file.outcome, '')}{file.reason or ''}", soft_wrap=True)
        elif file.reason:
            out.print(Text.assemble(("! ", "yellow"), f"{file.upload.path}  {file.reason}"), soft_wrap=True)
    pages = [file for file in pushed.files if file.upload.material is not None]
    found = sum(page.done for page in pages)
    parts = [f"{found} of {len(pages)} pages searchable"]
    if others := len(pushed.files) - len(pages):
        parts.append(f"{others} learns.yml or synonyms.yml")
    if pushed.skipped:
        parts.append(f"{pushed.skipped} other files skipped")
    out.print(Text(f"{', '.join(parts)}, in {pushed.seconds:.1f} s", "bold" if not pushed.failed else "bold red"))


_WORDS = {"waiting": "waits: ", "not_uploaded": "not uploaded: ", "failed": ""}
