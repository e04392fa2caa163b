"""The pages of the library: a list, what the index has of each beside the original, and the findings by rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.shell import AdminForm, AdminReader, Visit
from sakuin.errors import Conflict, Invalid, NotFound
from sakuin.knowledge.learns.authored import with_lists
from sakuin.knowledge.markdown import parts
from sakuin.knowledge.model import Filters, MaterialState, StoredChunk
from sakuin.knowledge.page import Finding
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.language.unicode_text import nfc, visible
from sakuin.texts.catalogue import coded

_PAGES = 50
# Explanations of one page, the bytes of their texts, and the characters of one: a page of the console has 60 kB.
_EXPLANATIONS, _MOST_BYTES, _LONGEST = 20, 14_000, 2_000
LARGEST_UPLOAD = 4 * 1024 * 1024
_LEARNS = "learns-"
_SAMPLE = "sakuin-sample.html"


@dataclass(frozen=True, slots=True)
class ShownExplanation:
    """An explanation as an agent gets it: `parts` are its text, code or not, `rest` the characters left out."""

    chunk: StoredChunk
    url: str
    parts: Sequence[tuple[bool, str]]
    rest: int
    findings: Sequence[Finding]

    @property
    def size(self) -> int:
        """The bytes of what is shown."""
        return len("".join((*(text for _, text in self.parts), *self.chunk.learns, *self.chunk.learns)).encode())


def page_state(visit: Visit, material: str) -> MaterialState:
    """Returns the record of a page; `NotFound` if there is none."""
    state = visit.library.index.state(nfc(material))
    if state is None or state.status == "deleted":
        raise NotFound(coded("form.no_page"))
    return state


def page_findings(visit: Visit, state: MaterialState) -> Sequence[Finding]:
    """Returns what an upload took of a page, and the recorded findings about it."""
    findings, _ = visit.library.records.findings(material=state.material, limit=1)
    collapsed = visit.library.collapsed(state)
    return (collapsed, *findings) if collapsed else findings


def shown_explanations(
    visit: Visit, material: str, after: int, findings: Iterable[Finding]
) -> tuple[Sequence[ShownExplanation], int | None]:
    """Returns the explanations after a position that one page has room for, and the position of the last one.

    The position is None if there are no more.
    """
    read = visit.shell.read
    concepts, is_more = read.concepts(Filters(material=material), (material, after), limit=_EXPLANATIONS)
    shown: list[ShownExplanation] = []
    size = 0
    for chunk in filter(None, read.chunks([concept.id for concept in concepts]) if concepts else ()):
        explanation = _explanation(read, chunk, findings)
        size += explanation.size
        if shown and size > _MOST_BYTES:
            return shown, shown[-1].chunk.position
        shown.append(explanation)
    return shown, shown[-1].chunk.position if is_more and shown else None


def _explanation(read: ReadKnowledge, chunk: StoredChunk, findings: Iterable[Finding]) -> ShownExplanation:
    text = visible(chunk.content)
    return ShownExplanation(
        chunk,
        read.url(chunk.material, chunk.anchor, chunk.content),
        [(is_code, part.strip("\n")) for is_code, part in parts(text[:_LONGEST]) if part.strip()],
        max(0, len(text) - _LONGEST),
        [finding for finding in findings if finding.anchor == chunk.anchor],
    )


router = APIRouter()


@router.get("/pages")
def list_pages(
    visit: AdminReader, prefix: str = "", status: Literal["", "ready", "failed"] = "", after: str | None = None
) -> Response:
    """Lists the pages whose names begin with `prefix`."""
    materials, last = visit.library.records.materials(
        prefix=nfc(prefix), status=status or None, after=after, limit=_PAGES
    )
    following = _address("/pages", prefix=prefix, status=status, after=last)
    values: dict[str, Any] = {"prefix": prefix, "wanted": status, "largest": LARGEST_UPLOAD}
    return visit.page("pages.html", pages=materials, following=following, **values)


@router.get("/pages/page")
def show_page(visit: AdminReader, material: str, after: int = -1) -> Response:
    """Shows what the index has of a page."""
    state = page_state(visit, visit.text("material") or material)
    findings = page_findings(visit, state)
    shown, last = shown_explanations(visit, state.material, after, findings)
    anchors = {one.chunk.anchor for one in shown}
    original = visit.shell.read.url(state.material, "") if shown else ""
    return visit.page(
        "page.html",
        state=state,
        findings=[one for one in findings if one.anchor not in anchors],
        explanations=shown,
        following=_address("/pages/page", material=state.material, after=last),
        original=original if urlsplit(original).scheme in ("http", "https") else "",
        frames=framed(original, visit),
        largest=LARGEST_UPLOAD,
        after=after,
    )


@router.post("/pages/upload")
def upload(visit: AdminForm) -> Response:
    """Uploads the file of a form, as the page of `material`, or with its own name into a folder."""
    folder, material = visit.text("folder").strip("/"), visit.text("material")
    name = visit.text("document.name").replace("\\", "/").rpartition("/")[2]
    if not name:
        raise Invalid(coded("form.file"))
    place = f"{folder}/{name}" if folder else name
    key = page_state(visit, material).source.key if material else nfc(visit.library.prefix + place)
    visit.library.write(key, visit.fields["document"].encode())
    return redirect(_page_path(material) if material else "/pages", done="page_uploaded")


@router.post("/pages/sample")
def load_sample(visit: AdminForm) -> Response:
    """Uploads a page about the console, in the language of the reader."""
    body = bytes(visit.page("sample.html").body)
    visit.library.write(f"{visit.library.prefix}{_SAMPLE}", body)
    return redirect("/", done="page_uploaded")


@router.post("/pages/again")
def index_again(visit: AdminForm) -> Response:
    visit.library.reindex(page_state(visit, visit.text("material")).material)
    return redirect(_page_path(visit.text("material")), done="page_again")


@router.post("/pages/remove")
def remove(visit: AdminForm) -> Response:
    visit.library.remove(page_state(visit, visit.text("material")).source.key, "")
    return redirect("/pages", done="page_removed")


@router.post("/pages/learns")
def write_learns(visit: AdminForm) -> Response:
    """Writes the lists that were changed into the `learns.yml` of the page, or returns that file."""
    state, after = page_state(visit, visit.text("material")), visit.text("after")
    place = int(after) if after.isdecimal() else -1
    indexed = visit.library.records.indexed_materials([state.material])[state.material]
    lists = dict(_changed(visit.fields, {one.anchor: one.learns for one in indexed}))
    if not lists:
        return show_page(visit.with_problem(Invalid(coded("form.no_list"))), state.material, place)
    try:
        key, body, version = visit.library.learns_file(state.source.key, state.material)
        changed = with_lists(body, state.material, lists)
        if visit.text("action") == "download":
            headers = {"Content-Disposition": 'attachment; filename="learns.yml"'}
            return Response(changed, headers=headers, media_type="application/yaml; charset=utf-8")
        visit.library.write_learns(key, changed, version=version)
    except (Invalid, Conflict) as error:
        return show_page(visit.with_problem(error), state.material, place)
    return redirect(_page_path(state.material), done="learns_written")


@router.get("/findings")
def list_findings(visit: AdminReader, rule: str = "", prefix: str = "", after: str | None = None) -> Response:
    """Lists the rules with findings, or the findings of one rule."""
    counts = visit.library.records.finding_counts(nfc(prefix))
    listed: Sequence[Finding] = ()
    following = None
    if rule:
        listed, last = visit.library.records.findings(prefix=nfc(prefix), rule=rule, after=after, limit=_PAGES)
        following = _address("/findings", rule=rule, prefix=prefix, after=last)
    values: dict[str, Any] = {"rule": rule, "prefix": prefix, "following": following}
    return visit.page("findings.html", counts=counts, findings=listed, **values)


def _changed(fields: Mapping[str, str], stored: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the anchors whose items in the form differ from the stored ones."""
    for name, text in fields.items():
        anchor = name.removeprefix(_LEARNS)
        items = tuple(line.strip() for line in text.splitlines() if line.strip())
        if name != anchor and anchor in stored and items != tuple(stored[anchor]):
            yield anchor, items


def framed(url: str, visit: Visit) -> str:
    """Returns the origin of a page that may be framed; empty where a browser would show nothing."""
    parts = urlsplit(url)
    # A browser blocks plain HTTP inside of a page that came over TLS.
    is_shown = parts.scheme == "https" or (parts.scheme == "http" and visit.request.url.scheme == "http")
    return f"{parts.scheme}://{parts.netloc}" if is_shown else ""


def _page_path(material: str) -> str:
    return f"/pages/page?{urlencode({'material': material})}"


def _address(path: str, *, after: object, **query: str) -> str | None:
    """Returns the address of the next part of a list; None at its end."""
    filters = {name: value for name, value in query.items() if value}
    return None if after is None else f"/console{path}?{urlencode({**filters, 'after': after})}"
