"""What a push did, or would do, for people and as a JSON document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from sakuin.knowledge.names import chunk_id

from sakuin_cli.site.changes import Change
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.plan import Plan, State, learns_warnings
from sakuin_cli.site.uploads import NOT_HTML
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.uploads import SkippedFile, Upload

_SIGNS = {"waiting": ("…", "yellow"), "pending": ("…", "yellow")}
# So many pages are listed, and so many skipped files named, without --verbose.
_PAGES, _SKIPPED = 20, 3
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class PageCount:
    """The explanations of a page, and its headings without an id; None if they were not counted."""

    explanations: int
    headings: int | None

    @property
    def is_poor(self) -> bool:
        """Returns whether nothing, or not everything, can be found."""
        return not self.explanations or bool(self.headings)

    def __str__(self) -> str:
        headings = f", {counted(self.headings, 'heading')} without a usable id" if self.headings else ""
        return counted(self.explanations, "explanation") + headings


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did; `counts` are those of the index by material."""

    plan: Plan
    files: Sequence[Change]
    deleted: Sequence[Change]
    counts: Mapping[str, PageCount]
    warnings: Sequence[str]

    @property
    def unfinished(self) -> list[Change]:
        """Returns what the index has not applied."""
        return [one for one in (*self.files, *self.deleted) if not one.done]


def pushed_of(plan: Plan, files: Sequence[Change], deleted: Sequence[Change], library: "LibraryFiles") -> Pushed:
    """Asks the index for the explanations of the pushed pages, and compares each `learns.yml` with the pages."""
    done = {file.material: file.path or "" for file in files if file.material is not None and file.done}
    indexed = library.client.indexed(done) if done else {}
    anchors = {name: [chunk.anchor for chunk in found.chunks] for name, found in indexed.items()}
    counts = {
        # Reading a page takes some milliseconds: of many pages, only those without explanations are read.
        name: PageCount(
            len(anchors.get(name, ())),
            _headings_without_id(path) if len(done) <= _PAGES or not anchors.get(name) else None,
        )
        for name, path in done.items()
    }
    warnings = (*plan.warnings, *learns_warnings(plan, library, anchors))
    return Pushed(plan, sorted(files, key=lambda file: file.key or ""), deleted, counts, warnings)


def _headings_without_id(path: str) -> int:
    page = local_page(path)
    return 0 if isinstance(page, str) else len(page.unanchored_headings)


def push_document(pushed: Pushed, seconds: float) -> dict[str, Any]:
    """Returns the JSON document of a push."""
    pages = [file for file in pushed.files if file.material is not None]
    beside = [{**_file(file), "reason": file.reason} for file in pushed.files if file.material is None]
    return {
        "pushed": sum(page.done for page in pages),
        "failed": [_reason(file) for file in pushed.unfinished if file.outcome != "pending"],
        "pending": [_reason(file) for file in pushed.unfinished if file.outcome == "pending"],
        **_skipped(pushed.plan.uploads.skipped),
        "pages": [
            {**_file(page), "material": page.material, **_counts(pushed.counts.get(page.material or ""))}
            for page in pages
        ],
        **_beside(beside),
        "deleted": [one.key for one in pushed.deleted if one.done],
        "warnings": list(pushed.warnings),
        "seconds": round(seconds, 3),
    }


def _sign(count: PageCount) -> tuple[str, str]:
    return ("!", "yellow") if count.is_poor else (" ", "")


def _file(file: Change) -> dict[str, Any]:
    return {"path": file.path, "key": file.key, "version_id": file.version_id, "outcome": file.outcome}


def _reason(file: Change) -> dict[str, Any]:
    return {"path": file.path, "key": file.key, "reason": file.reason or file.outcome}


def _counts(count: PageCount | None) -> dict[str, Any]:
    return {
        "explanations": None if count is None else count.explanations,
        "headings_without_id": None if count is None else count.headings,
    }


def _beside(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    learns = [file for file in files if file["key"].endswith("learns.yml")]
    return {"learns_files": learns, "synonyms_files": [file for file in files if file not in learns]}


def _skipped(files: "Sequence[SkippedFile]") -> dict[str, Any]:
    return {"skipped": len(files), "skipped_files": [{"path": one.path, "reason": one.reason} for one in files]}


def show_push(terminal: Terminal, pushed: Pushed, seconds: float, *, verbose: bool) -> None:
    """Prints failures, each page or those without explanations, warnings, and the counts."""
    from rich.text import Text

    pages = [file for file in pushed.files if file.material is not None]
    for one in (*pushed.files, *pushed.deleted):
        if one.done and (one.reason or one.path is None):
            sign = ("-" if one.path is None else "!", "yellow")
            terminal.line(*sign, f"{one.path or one.key}  {one.reason or 'deleted'}")
    _show_failures(terminal, pushed)
    for page in pages:
        count = pushed.counts.get(page.material or "")
        if count and (count.is_poor or verbose or len(pages) <= _PAGES):
            terminal.line(*_sign(count), f"{page.material}: {count}")
    _show_notes(terminal, pushed.warnings, _skipped(pushed.plan.uploads.skipped)["skipped_files"], verbose=verbose)
    parts = [f"{sum(page.done for page in pages)} of {len(pages)} pages searchable"]
    parts.append(counted(sum(count.explanations for count in pushed.counts.values()), "explanation"))
    if others := sum(file.done for file in pushed.files if file.material is None):
        parts.append(f"{others} learns.yml or synonyms.yml")
    if pushed.deleted:
        parts.append(f"{sum(one.done for one in pushed.deleted)} deleted")
    pending = sum(one.outcome == "pending" for one in pushed.unfinished)
    if pending:
        parts.append(f"{pending} not finished yet")
    style = "bold red" if len(pushed.unfinished) > pending else "bold yellow" if pending else "bold"
    terminal.out.print(Text(f"{', '.join(parts)}, in {seconds:.1f} s", style))
    if len(pushed.files) > 1:
        # The first list may be out of sight.
        _show_failures(terminal, pushed)


def _show_failures(terminal: Terminal, pushed: Pushed) -> None:
    for one in pushed.unfinished:
        sign = _SIGNS.get(one.outcome, ("✗", "red" if one.version_id is None else "yellow"))
        label = {"waiting": "waits: ", "not_uploaded": "not uploaded: "}.get(one.outcome, "")
        terminal.line(*sign, f"{one.path or one.key}  {label}{one.reason or one.outcome}")


def plan_document(plan: Plan, library: "LibraryFiles") -> dict[str, Any]:
    """Returns the JSON document of a push that changes nothing."""
    pages: list[dict[str, Any]] = []
    failed = [_failed(one, plan.uploads.clash_reason(one)) for one in plan.uploads.clashes]
    failed += [_failed(one, plan.refused[one.key]) for one in plan.uploads.files if one.key in plan.refused]
    failed += [_failed(one, plan.losses[one.key]) for one in plan.uploads.files if one.key in plan.losses]
    anchors: dict[str, list[str]] = {}
    for page in plan.accepted.pages:
        name = page.material or ""
        local = local_page(page.path)
        if isinstance(local, str):
            failed.append(_failed(page, local))
            continue
        anchors[name] = [one.anchor for one in local.explanations]
        found = [{"id": chunk_id(name, one.anchor), "type": one.type, "title": one.title} for one in local.explanations]
        stated = {"path": page.path, "key": page.key, "material": name, "state": plan.states[page.key]}
        pages.append({**stated, "explanations": found, "headings_without_id": len(local.unanchored_headings)})
    files = [one for one in plan.accepted.files if one.material is None]
    return {
        "dry_run": True,
        "failed": failed,
        **_skipped(plan.uploads.skipped),
        "pages": pages,
        **_beside([{"path": one.path, "key": one.key, "state": plan.states[one.key]} for one in files]),
        "gone": list(plan.gone),
        "warnings": [*plan.warnings, *learns_warnings(plan, library, anchors)],
    }


def _failed(upload: "Upload", reason: str) -> dict[str, str]:
    return {"path": upload.path, "key": upload.key, "reason": reason}


def show_plan(terminal: Terminal, document: Mapping[str, Any], *, deleting: bool, verbose: bool) -> None:
    """Prints what a push would do."""
    from rich.text import Text

    for one in document["failed"]:
        terminal.line("✗", "red", f"{one['path']}  {one['reason']}")
    pages = document["pages"]
    for page in pages:
        count = PageCount(len(page["explanations"]), page["headings_without_id"])
        if count.is_poor or verbose or len(pages) <= _PAGES:
            terminal.line(*_sign(count), f"{page['state']:<9}  {page['material']}: {count}")
            for one in page["explanations"]:
                terminal.out.print(Text(f"{'':13}{one['type']:<10}  {one['id']}  {one['title']}", "dim"))
    for one in (*document["learns_files"], *document["synonyms_files"]):
        terminal.line(" ", "", f"{one['state']:<9}  {one['key']}")
    for key in document["gone"] if deleting else ():
        terminal.line("-", "red", f"{'delete':<9}  {key}")
    _show_notes(terminal, document["warnings"], document["skipped_files"], verbose=verbose)
    states = ", ".join(f"{sum(page['state'] == state for page in pages):,} {state}" for state in STATES)
    terminal.out.print(Text(f"{counted(len(pages), 'page')}: {states}. Nothing was uploaded", "bold"))


def _show_notes(
    terminal: Terminal, warnings: Sequence[str], skipped: Sequence[Mapping[str, str]], *, verbose: bool
) -> None:
    """Prints warnings, and the names of skipped files: of many, first those that an author may miss."""
    for warning in warnings:
        terminal.line("!", "yellow", warning)
    if not skipped:
        return
    first = sorted(skipped, key=lambda one: one["reason"] == NOT_HTML)
    named = first if verbose else first[:_SKIPPED]
    shown = ", ".join(f"{one['path']} ({one['reason']})" for one in named)
    more = f" and {len(skipped) - len(named):,} more (--verbose lists them)" if len(skipped) > len(named) else ""
    terminal.out.print(f"skipped: {shown}{more}")
