"""Findings about the pages and the `learns.yml` on this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sakuin.knowledge.learns.authored import LearnsFile
from sakuin.knowledge.names import LEARNS_FILE
from sakuin.knowledge.page import Finding, IndexedChunk, Page, Words
from sakuin.knowledge.validation import findings_of_page, unreadable_page

from sakuin_cli.site.authored import findings_of_learns
from sakuin_cli.site.learns import LearnsOfSite, WrittenSection, authored_learns, learns_files, written_sections
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Upload, Uploads, folder_path
from sakuin_cli.terminal import OnProgress

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
    lock: Mapping[str, str],
    on_progress: OnProgress,
) -> tuple[list[Finding], list[Words]]:
    """Returns findings about files before they are pushed, and the books of the pages.

    Without a client they are not compared with the index. `lock` has the texts that `learns` were accepted for.
    """
    names = [page.material or "" for page in uploads.pages]
    indexed = client.indexed(names) if client else {}
    learns, findings = learns_files(uploads)
    for clash in uploads.clashes:
        why = f"{clash.path!r}: {uploads.clash_reason(clash)}."
        findings.append(Finding("error", "same-key", clash.material or clash.key, None, why))
    anchors: dict[str, list[str]] = {}
    books: list[Words] = []
    sections: list[WrittenSection] = []
    for number, (upload, material) in enumerate(zip(uploads.pages, names, strict=True), 1):
        page = local_page(upload.path, box_selectors=settings.box_selectors)
        if isinstance(page, str):
            findings.append(unreadable_page(material or upload.key, page))
        else:
            anchors[material] = [one.anchor for one in page.explanations]
            known = indexed.get(material) if client else _as_indexed(upload, page, learns)
            findings += findings_of_page(material, page, known, strict=strict)
            books.append(page.words)
            sections += written_sections(material, page, authored_learns(upload, learns))
        on_progress("checked", number, len(names))
    site = LearnsOfSite(sections, (), lock)
    findings += (*site.promises(), *site.stale())
    others = {one["material"] for one in client.materials(prefix=folder_path(folder))} if client and learns else set()
    for key, file in learns.items():
        place = key.removesuffix(LEARNS_FILE)
        findings += findings_of_learns(key, place, file, others.union(names), anchors)
    return findings, books


def _as_indexed(upload: Upload, page: Page, files: Mapping[str, LearnsFile]) -> list[IndexedChunk]:
    """Returns what the index would have of a page."""
    learns = authored_learns(upload, files)
    return [IndexedChunk(one.anchor, (), learns.get(one.anchor)) for one in page.explanations]
