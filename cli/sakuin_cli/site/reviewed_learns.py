"""Which `learns` of a folder's pages are missing or weak."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.knowledge.authored.learns_yml import LearnsFile, parse_learns
from sakuin.knowledge.learns.writer import clean_learns
from sakuin.knowledge.names import is_anchor
from sakuin.knowledge.page import Explanation, Page
from sakuin.knowledge.validation import IndexedChunk, poor_learns
from sakuin.language.unicode_text import is_japanese

from sakuin_cli.files import read_bytes
from sakuin_cli.site.findings import authored_learns
from sakuin_cli.site.pages import local_page
from sakuin_cli.site.uploads import Upload, Uploads

State = Literal["missing", "weak", "good"]
SHORTEST_ITEM = 5  # characters of Japanese; other items have two words


@dataclass(frozen=True, slots=True)
class ReviewedLearns:
    """The `learns` of one explanation. `missing`: no file names it; `weak`: `reasons` say why."""

    explanation: Explanation
    state: State
    given: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewedPage:
    """A page with its reviewed `learns`; `error` if it cannot be read."""

    path: str
    material: str
    learns: tuple[ReviewedLearns, ...] = ()
    error: str | None = None


def folder_files(uploads: Uploads) -> dict[str, LearnsFile]:
    """Returns the `learns.yml` files of a folder by key. Raises `Invalid` if one cannot be read."""
    files = (upload for upload in uploads.files if upload.key.rpartition("/")[2] == "learns.yml")
    return {one.key: parse_learns(read_bytes(one.path)) for one in files}


def reviewed_page(upload: Upload, files: Mapping[str, LearnsFile]) -> ReviewedPage:
    """Returns the review of a page's `learns`. For each anchor the nearest file counts."""
    page, material = local_page(upload.path), upload.material or ""
    if isinstance(page, str):
        return ReviewedPage(upload.path, material, error=page)
    return ReviewedPage(upload.path, material, tuple(_reviewed(material, page, authored_learns(upload, files, ""))))


def _reviewed(material: str, page: Page, authored: Mapping[str, tuple[str, ...]]) -> Iterator[ReviewedLearns]:
    for explanation in page.explanations:
        if is_anchor(explanation.anchor):
            given = authored.get(explanation.anchor, ())
            reasons = tuple(_weaknesses(material, explanation, given)) if given else ()
            yield ReviewedLearns(explanation, "missing" if not given else "weak" if reasons else "good", given, reasons)


def _weaknesses(material: str, explanation: Explanation, given: Sequence[str]) -> Iterator[str]:
    chunk = IndexedChunk(explanation.anchor, tuple(given), tuple(given))
    yield from (finding.message for finding in poor_learns(material, [chunk]))
    items = clean_learns(given)
    if short := [item for item in items if _is_short(item)]:
        yield f"#{explanation.anchor} has learns items that say too little: {' / '.join(short)}. Say what with."


def _is_short(item: str) -> bool:
    return len(item) < SHORTEST_ITEM if is_japanese(item) else len(re.findall(r"\w+", item)) < 2
