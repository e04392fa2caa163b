"""Findings about the pages and the `learns.yml` on this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sakuin.errors import Invalid, NotFound
from sakuin.knowledge.learns.authored import LearnsFile, learns_keys, parse_learns, parse_synonyms
from sakuin.knowledge.names import LEARNS_FILE, is_anchor
from sakuin.knowledge.page import Finding, IndexedChunk, Page, Words
from sakuin.knowledge.validation import findings_of_page, poor_learns, unreadable_file, unreadable_page

from sakuin_cli.files import read_bytes
from sakuin_cli.site.authored import findings_of_learns
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Upload, Uploads, folder_path
from sakuin_cli.terminal import OnProgress, tracked

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.settings import CommandSettings


def local_findings(
    client: "DeploymentClient | None",
    uploads: Uploads,
    settings: "CommandSettings",
    *,
    folder: str,
    strict: bool,
    on_progress: OnProgress,
) -> tuple[list[Finding], list[Words]]:
    """Returns findings about files before they are pushed, and the books of the pages.

    Without a client they are not compared with the index.
    """
    names = [page.material or "" for page in uploads.pages]
    indexed = client.indexed(names) if client else {}
    learns, findings = learns_files(uploads)
    for clash in uploads.clashes:
        why = f"{clash.path!r}: {uploads.clash_reason(clash)}."
        findings.append(Finding("error", "same-key", clash.material or clash.key, None, why))
    anchors: dict[str, list[str]] = {}
    books: list[Words] = []
    for number, (upload, material) in enumerate(zip(uploads.pages, names, strict=True), 1):
        page = local_page(upload.path, box_selectors=settings.box_selectors)
        if isinstance(page, str):
            findings.append(unreadable_page(material or upload.key, page))
        else:
            anchors[material] = [one.anchor for one in page.explanations]
            known = indexed.get(material) if client else _as_indexed(upload, page, learns)
            findings += findings_of_page(material, page, known, strict=strict)
            books.append(page.words)
        on_progress("checked", number, len(names))
    others = {one["material"] for one in client.materials(prefix=folder_path(folder))} if client and learns else set()
    for key, file in learns.items():
        place = key.removesuffix(LEARNS_FILE)
        findings += findings_of_learns(key, place, file, others.union(names), anchors)
    return findings, books


def learns_findings(uploads: Uploads, on_progress: OnProgress) -> list[Finding]:
    """Returns findings about the `learns` that authors gave to explanations, or did not give."""
    files, findings = learns_files(uploads)
    for upload in tracked(uploads.pages, "read", on_progress):
        page, material = local_page(upload.path), upload.material or ""
        if isinstance(page, str):
            findings.append(unreadable_page(material, page))
            continue
        chunks = _as_indexed(upload, page, files)
        findings += poor_learns(material, chunks)
        for chunk, explanation in zip(chunks, page.explanations, strict=True):
            if chunk.learns_given is None and is_anchor(chunk.anchor):
                message = f'No learns.yml names #{chunk.anchor}, "{explanation.title}"'
                findings.append(Finding("warning", "learns-missing", material, chunk.anchor, message))
    return findings


def learns_files(uploads: Uploads) -> tuple[dict[str, LearnsFile], list[Finding]]:
    """Returns each `learns.yml` by its key, and findings about files that cannot be read."""
    files: dict[str, LearnsFile] = {}
    findings: list[Finding] = []
    for upload in uploads.files:
        if upload.material is None:
            try:
                if upload.key.endswith(LEARNS_FILE):
                    files[upload.key] = parse_learns(read_bytes(upload.path))
                else:
                    parse_synonyms(read_bytes(upload.path))
            except (Invalid, NotFound) as error:
                findings.append(unreadable_file(upload.key, str(error)))
    return files, findings


def authored_learns(upload: Upload, files: Mapping[str, LearnsFile]) -> dict[str, tuple[str, ...]]:
    """Returns the items by anchor that the `learns.yml` files around a page give it; the nearest file wins."""
    found: dict[str, tuple[str, ...]] = {}
    for key in learns_keys(upload.key, ""):
        if key in files:
            found = {**files[key].for_material(upload.material or ""), **found}
    return found


def _as_indexed(upload: Upload, page: Page, files: Mapping[str, LearnsFile]) -> list[IndexedChunk]:
    """Returns what the index would have of a page."""
    learns = authored_learns(upload, files)
    return [IndexedChunk(one.anchor, (), learns.get(one.anchor)) for one in page.explanations]
