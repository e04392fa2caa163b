"""`sakuin learns`: lists missing and weak `learns`, and drafts what is missing."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.files import write_bytes
from sakuin_cli.options import JsonOption, PrefixOption
from sakuin_cli.terminal import OnProgress, Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.drafting.drafts import DraftWriter
    from sakuin_cli.drafting.learns_text import Draft
    from sakuin_cli.drafting.review import FolderFile, ReviewedLearns, ReviewedPage
    from sakuin_cli.site.uploads import Uploads

DEFAULT_MODEL = "gpt-6-luna"
_STYLES = {"missing": "red", "weak": "yellow", "draft": "cyan"}


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
    write: Annotated[bool, typer.Option("--write", help="Write drafts of what is missing to learns.yml.")] = False,
    prefix: PrefixOption = "",
    model: Annotated[
        str,
        typer.Option(metavar="NAME", help="The model of OpenAI that drafts, with OPENAI_API_KEY; empty: rules do."),
    ] = DEFAULT_MODEL,
    as_json: JsonOption = False,
) -> None:
    """List the explanations whose learns are missing or weak, and draft what is missing."""
    from sakuin_cli.site.config import site_of

    with reporting_errors(as_json) as terminal:
        site = site_of([path] if path else None, prefix)
        folder, prefix = site.paths[0], site.prefix
        with terminal.progress("read", "drafted") as on_progress:
            uploads = _uploads(folder, prefix)
            files, pages = _reviewed(uploads, on_progress)
            writer = _writer(model.strip() if write else "")
            written = _with_drafts(folder, prefix, files, pages, writer, on_progress) if write else {}
        document = _document(pages, written, writer)
        if as_json:
            terminal.document(document)
        else:
            _show(terminal, pages, written, writer)
    raise typer.Exit(1 if document["failed"] else 0)


def _uploads(path: Path, prefix: str) -> "Uploads":
    from sakuin_cli.site.uploads import uploads_below

    uploads = uploads_below([path], folder=prefix, material_prefix="")
    if not uploads.pages:
        raise Invalid(f"There is no .html file in {path.as_posix()}: name a folder of built pages")
    return uploads


def _reviewed(uploads: "Uploads", on_progress: OnProgress) -> "tuple[dict[str, FolderFile], list[ReviewedPage]]":
    from sakuin_cli.drafting.review import folder_files, reviewed_page

    files = folder_files(uploads)
    pages = []
    for number, page in enumerate(uploads.pages, 1):
        pages.append(reviewed_page(page.path, page.key, page.material or "", files))
        on_progress("read", number, len(uploads.pages))
    return files, pages


def _writer(model: str) -> "DraftWriter":
    from sakuin_cli.drafting.drafts import DraftWriter

    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not model or not key:
        return DraftWriter(None)
    from openai import OpenAI
    from sakuin.knowledge.learns.openai import OpenAILearnsModel
    from sakuin.platform.calls import background

    return DraftWriter(OpenAILearnsModel(OpenAI(api_key=key), model, ask=background()))


def _with_drafts(
    path: Path,
    prefix: str,
    files: "dict[str, FolderFile]",
    pages: "Sequence[ReviewedPage]",
    writer: "DraftWriter",
    on_progress: OnProgress,
) -> "dict[str, dict[str, dict[str, Draft]]]":
    """Writes the drafts of all pages; returns them by path of the file, material as the file names it, and anchor."""
    from sakuin_cli.drafting.learns_text import with_drafts
    from sakuin_cli.site.uploads import folder_path

    top = f"{folder_path(prefix)}learns.yml"
    drafted: defaultdict[str, dict[str, dict[str, Draft]]] = defaultdict(dict)
    endings = Counter(page.material.rpartition("/")[2] for page in pages)
    for number, page in enumerate(pages, 1):
        missing = [one for one in page.learns if one.state == "missing"]
        if missing:
            key, name = _place(page, files, top, is_alone=endings[page.material.rpartition("/")[2]] == 1)
            drafted[key].setdefault(name, {}).update(writer.drafts(missing))
        on_progress("drafted", number, len(pages))
    written = {}
    # All files are made before the first is written.
    for key, drafts in drafted.items():
        place = files[key].path if key in files else (path / "learns.yml").as_posix()
        written[place] = (with_drafts(files[key].data if key in files else b"", drafts), drafts)
    for place, (data, _) in written.items():
        write_bytes(Path(place), data)
    return {place: drafts for place, (_, drafts) in written.items()}


def _place(page: "ReviewedPage", files: "dict[str, FolderFile]", top: str, *, is_alone: bool) -> tuple[str, str]:
    """Returns the key of the file for a page's drafts, and the page's name there.

    It is the nearest file that names the page, otherwise the nearest one, otherwise a new one at the top.
    """
    from sakuin.knowledge.learns.learns_yml import learns_keys

    ending = page.material.rpartition("/")[2]
    near = [key for key in learns_keys(page.key) if key in files]
    for key in near:
        for name in (page.material, ending):
            if name in files[key].content.lists:
                return key, name
    return (near[0] if near else top), ending if is_alone else page.material


def _document(
    pages: "Sequence[ReviewedPage]", written: "dict[str, dict[str, dict[str, Draft]]]", writer: "DraftWriter"
) -> dict[str, object]:
    counts = Counter(one.state for page in pages for one in page.learns)
    drafts = [draft for materials in written.values() for anchors in materials.values() for draft in anchors.values()]
    return {
        "pages": len(pages),
        "explanations": counts.total(),
        "missing": counts["missing"],
        "weak": counts["weak"],
        "drafts": counts["draft"],
        "written": len(drafts),
        "written_by": dict(Counter(draft.by for draft in drafts)),
        "files": list(written),
        "entries": [_entry(page, one) for page in pages for one in page.learns if one.state != "good"],
        "model_error": str(writer.failure) if writer.failure else None,
        "failed": [{"path": page.path, "reason": page.error} for page in pages if page.error],
    }


def _entry(page: "ReviewedPage", one: "ReviewedLearns") -> dict[str, object]:
    return {
        "path": page.path,
        "material": page.material,
        "anchor": one.explanation.anchor,
        "title": one.explanation.title,
        "state": one.state,
        "reasons": list(one.reasons),
        "learns": list(one.given),
    }


def _show(
    terminal: Terminal,
    pages: "Sequence[ReviewedPage]",
    written: "dict[str, dict[str, dict[str, Draft]]]",
    writer: "DraftWriter",
) -> None:
    from rich.text import Text

    out = terminal.out
    for page in pages:
        listed = [one for one in page.learns if one.state != "good"]
        if not listed and not page.error:
            continue
        out.print(Text(page.path, "bold"), soft_wrap=True)
        if page.error:
            out.print(Text.assemble("  ", ("failed   ", "red"), page.error), soft_wrap=True)
        width = max((len(one.explanation.anchor) for one in listed), default=0)
        for one in listed:
            state = (f"  {one.state:<8}", _STYLES[one.state])
            line = Text.assemble(state, f" {one.explanation.anchor:<{width}}  ", one.explanation.title)
            out.print(line, soft_wrap=True)
            for reason in one.reasons:
                out.print(Text(f"           {reason}", "dim"), soft_wrap=True)
        out.print()
    counts = Counter(one.state for page in pages for one in page.learns)
    of_all = f"of {counted(counts.total(), 'explanation')} in {counted(len(pages), 'page')}"
    summary = f"{counts['missing']:,} missing, {counts['weak']:,} weak, {counts['draft']:,} not reviewed, {of_all}"
    out.print(Text(summary, "bold green" if counts["good"] == counts.total() else "bold yellow"))
    if writer.failure:
        out.print(
            Text(f"The model did not answer, so rules wrote the rest. {writer.failure}", "yellow"), soft_wrap=True
        )
    for place, materials in written.items():
        by = Counter(draft.by for anchors in materials.values() for draft in anchors.values())
        shown = ", ".join(f"{number:,} by {name}" for name, number in by.items())
        out.print(Text(f"{place}: {shown}. Review them, then `sakuin push`", "green"), soft_wrap=True)
    if counts["missing"] and not written:
        out.print(Text("Draft what is missing with --write", "dim"))
