"""`sakuin learns`: lists missing and weak `learns`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sakuin_cli.options import JsonOption, PrefixOption
from sakuin_cli.terminal import OnProgress, Terminal, counted, reporting_errors, tracked

if TYPE_CHECKING:
    from sakuin_cli.site.reviewed_learns import ReviewedPage

_STYLES = {"missing": "red", "weak": "yellow"}


def learns(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            exists=True,
            file_okay=False,
            help="A folder of built pages.",
            show_default="`pages` of sakuin.toml",
        ),
    ] = None,
    prefix: PrefixOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the explanations whose learns are missing or weak."""
    from sakuin_cli.site.config import site_of

    with reporting_errors(as_json) as terminal:
        site = site_of([path] if path else None, prefix)
        with terminal.progress("read") as on_progress:
            pages = _reviewed(site.paths[0], site.prefix, on_progress)
    terminal.answer(_document(pages), lambda: _show(terminal, pages))
    raise typer.Exit(1 if any(page.error for page in pages) else 0)


def _reviewed(folder: Path, prefix: str, on_progress: OnProgress) -> "list[ReviewedPage]":
    from sakuin_cli.site.reviewed_learns import folder_files, reviewed_page
    from sakuin_cli.site.uploads import no_page_in, uploads_below

    uploads = uploads_below([folder], folder=prefix, material_prefix="")
    if not uploads.pages:
        raise no_page_in([folder])
    files = folder_files(uploads)
    return [reviewed_page(page, files) for page in tracked(uploads.pages, "read", on_progress)]


def _document(pages: "Sequence[ReviewedPage]") -> dict[str, object]:
    counts = Counter(one.state for page in pages for one in page.learns)
    entries = [
        {
            "path": page.path,
            "material": page.material,
            "anchor": one.explanation.anchor,
            "title": one.explanation.title,
            "state": one.state,
            "reasons": list(one.reasons),
            "learns": list(one.given),
        }
        for page in pages
        for one in page.learns
        if one.state != "good"
    ]
    return {
        "pages": len(pages),
        "explanations": counts.total(),
        "missing": counts["missing"],
        "weak": counts["weak"],
        "entries": entries,
        "failed": [{"path": page.path, "reason": page.error} for page in pages if page.error],
    }


def _show(terminal: Terminal, pages: "Sequence[ReviewedPage]") -> None:
    from rich.text import Text

    out = terminal.out
    for page in pages:
        listed = [one for one in page.learns if one.state != "good"]
        if not listed and not page.error:
            continue
        out.print(Text(page.path, "bold"))
        if page.error:
            out.print(Text.assemble("  ", ("failed   ", "red"), page.error))
        width = max((len(one.explanation.anchor) for one in listed), default=0)
        for one in listed:
            state = (f"  {one.state:<8}", _STYLES[one.state])
            line = Text.assemble(state, f" {one.explanation.anchor:<{width}}  ", one.explanation.title)
            out.print(line)
            for reason in one.reasons:
                out.print(Text(f"           {reason}", "dim"))
        out.print()
    counts = Counter(one.state for page in pages for one in page.learns)
    of_all = f"of {counted(counts.total(), 'explanation')} in {counted(len(pages), 'page')}"
    summary = f"{counts['missing']:,} missing, {counts['weak']:,} weak, {of_all}"
    out.print(Text(summary, "bold green" if counts["good"] == counts.total() else "bold yellow"))
