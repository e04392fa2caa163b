"""What a push did, or would do: a JSON document, and its lines for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from sakuin.knowledge.names import chunk_id
from sakuin.knowledge.page import Page, Words

from sakuin_cli.site.changes import Change
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.plan import Plan, State, learns_warnings
from sakuin_cli.site.uploads import NOT_HTML
from sakuin_cli.terminal import Terminal, counted, first_of

if TYPE_CHECKING:
    from sakuin_cli.site.library import LibraryFiles
    from sakuin_cli.site.uploads import SkippedFile, Upload

Document = dict[str, Any]

_LABELS = {"waiting": "waits: ", "not_uploaded": "not uploaded: "}
# Of more pages, only those are listed of which something cannot be found; so many skipped files are named.
_PAGES, _SKIPPED = 20, 3
_NOT_READ: Document = {"headings_without_id": None, "words": None}
STATES: tuple[State, ...] = get_args(State)


def push_document(
    plan: Plan, files: Sequence[Change], deleted: Sequence[Change], library: "LibraryFiles", seconds: float
) -> Document:
    """Returns what a push did. Asks the index for the explanations of the pushed pages."""
    files = sorted(files, key=lambda file: file.key or "")
    done = {file.material: file.path or "" for file in files if file.material is not None and file.done}
    indexed = library.client.indexed(done) if done else {}
    anchors = {name: [chunk.anchor for chunk in found] for name, found in indexed.items()}
    unfinished = [one for one in (*files, *deleted) if not one.done]
    return {
        "pushed": len(done),
        "failed": [_reason(one) for one in unfinished if one.outcome != "pending"],
        "pending": [_reason(one) for one in unfinished if one.outcome == "pending"],
        **_skipped(plan.uploads.skipped),
        "pages": [
            {
                **_file(file),
                "material": file.material,
                "explanations": len(anchors.get(file.material, ())) if file.done else None,
                # Reading a page takes some milliseconds: of many pages, only those without explanations are read.
                **(
                    _reading(local_page(file.path or ""))
                    if file.done and (len(done) <= _PAGES or not anchors.get(file.material))
                    else _NOT_READ
                ),
            }
            for file in files
            if file.material is not None
        ],
        **_beside([_file(file) for file in files if file.material is None]),
        "deleted": [one.key for one in deleted if one.done],
        "warnings": [*plan.warnings, *learns_warnings(plan, library, anchors)],
        "seconds": round(seconds, 3),
    }


def plan_document(plan: Plan, library: "LibraryFiles", description: str | None) -> Document:
    """Returns what a push would do; `description` is what it would say of the folder."""
    pages: list[Document] = []
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
        pages.append({**stated, "explanations": found, **_reading(local)})
    files = [one for one in plan.accepted.files if one.material is None]
    return {
        "dry_run": True,
        "failed": failed,
        **_skipped(plan.uploads.skipped),
        "pages": pages,
        **_beside([{"path": one.path, "key": one.key, "state": plan.states[one.key]} for one in files]),
        "gone": list(plan.gone),
        "description": description,
        "warnings": [*plan.warnings, *learns_warnings(plan, library, anchors)],
    }


def show_push(terminal: Terminal, document: Document) -> None:
    """Prints failures, each page or those without explanations, warnings, and the counts."""
    pages, beside = document["pages"], (*document["learns_files"], *document["synonyms_files"])
    failures = (*document["failed"], *document["pending"])
    unfinished = {one["key"] for one in failures}
    for one in (*pages, *beside):
        if one["reason"] and one["key"] not in unfinished:
            terminal.line("!", "yellow", f"{one['path']}  {one['reason']}")
    for key in document["deleted"]:
        terminal.line("-", "yellow", f"{key}  deleted")
    _show_failures(terminal, failures)
    for page in pages:
        if page["explanations"] is not None:
            _show_page(terminal, page["material"], page["explanations"], page, len(pages))
    _show_notes(terminal, document)
    parts = [f"{document['pushed']} of {len(pages)} pages searchable"]
    parts.append(counted(sum(page["explanations"] or 0 for page in pages), "section"))
    if others := sum(one["key"] not in unfinished for one in beside):
        parts.append(f"{others} learns.yml or synonyms.yml")
    if document["deleted"]:
        parts.append(f"{len(document['deleted'])} deleted")
    if document["pending"]:
        parts.append(f"{len(document['pending'])} not finished yet")
    style = "bold red" if document["failed"] else "bold yellow" if document["pending"] else "bold"
    terminal.print((f"{', '.join(parts)}, in {document['seconds']:.1f} s", style))
    if len(pages) + len(beside) > 1:
        # The first list may be out of sight.
        _show_failures(terminal, failures)


def show_plan(terminal: Terminal, document: Document, *, deleting: bool) -> None:
    """Prints what a push would do."""
    _show_failures(terminal, document["failed"])
    pages = document["pages"]
    for page in pages:
        count, name = len(page["explanations"]), f"{page['state']:<9}  {page['material']}"
        if _show_page(terminal, name, count, page, len(pages)):
            for one in page["explanations"]:
                terminal.print((f"{'':13}{one['type']:<10}  {one['id']}  {one['title']}", "dim"))
    for one in (*document["learns_files"], *document["synonyms_files"]):
        terminal.line(" ", "", f"{one['state']:<9}  {one['key']}")
    if document["description"] is not None:
        terminal.line(" ", "", f"{'describe':<9}  {document['description']}")
    for key in document["gone"] if deleting else ():
        terminal.line("-", "red", f"{'delete':<9}  {key}")
    _show_notes(terminal, document)
    states = ", ".join(f"{sum(page['state'] == state for page in pages):,} {state}" for state in STATES)
    terminal.print((f"{counted(len(pages), 'page')}: {states}. Nothing was uploaded", "bold"))


def _reading(page: Page | str) -> Document:
    if isinstance(page, str):
        return {"headings_without_id": 0, "words": None}
    words = asdict(page.words)
    del words["first_lost"]
    return {"headings_without_id": len(page.unanchored_headings), "words": words}


def _file(file: Change) -> Document:
    stored = {"key": file.key, "version_id": file.version_id}
    return {"path": file.path, **stored, "outcome": file.outcome, "reason": file.reason}


def _reason(file: Change) -> Document:
    return {"path": file.path, "key": file.key, "outcome": file.outcome, "reason": file.reason or file.outcome}


def _failed(upload: "Upload", reason: str) -> Document:
    return {"path": upload.path, "key": upload.key, "reason": reason}


def _beside(files: Sequence[Mapping[str, Any]]) -> Document:
    learns = [file for file in files if file["key"].endswith("learns.yml")]
    return {"learns_files": learns, "synonyms_files": [file for file in files if file not in learns]}


def _skipped(files: "Sequence[SkippedFile]") -> Document:
    return {"skipped": len(files), "skipped_files": list(map(asdict, files))}


def _show_failures(terminal: Terminal, failures: Sequence[Document]) -> None:
    for one in failures:
        outcome = one.get("outcome", "")
        sign = ("…", "yellow") if outcome in ("pending", "waiting") else ("✗", "red")
        terminal.line(*sign, f"{one['path'] or one['key']}  {_LABELS.get(outcome, '')}{one['reason']}")


def _show_page(terminal: Terminal, name: str, explanations: int, page: Document, pages: int) -> bool:
    """Prints the explanations and words of one of some pages, and its headings without an id, if it is listed."""
    headings, words = page["headings_without_id"], page["words"]
    is_poor = not explanations or bool(headings) or bool(words and words["lost"])
    if not is_poor and pages > _PAGES:
        return False
    without_id = f", {counted(headings, 'heading')} without a usable id" if headings else ""
    said = f", {Words(**words)}" if words else ""
    sign = ("!", "yellow") if is_poor else (" ", "")
    terminal.line(*sign, f"{name}: {counted(explanations, 'section')}{without_id}{said}")
    return True


def _show_notes(terminal: Terminal, document: Document) -> None:
    """Prints warnings, and the names of skipped files: of many, first those that an author may miss."""
    for warning in document["warnings"]:
        terminal.line("!", "yellow", warning)
    skipped = sorted(document["skipped_files"], key=lambda one: bool(one["reason"] == NOT_HTML))
    if skipped:
        names = [f"{one['path']} ({one['reason']})" for one in skipped]
        terminal.print(f"skipped: {first_of(names, _SKIPPED)}")
