"""The routes of the library: its pages, findings and descriptions."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from sakuin.http.access import Services, admin_routes
from sakuin.knowledge.model import MaterialState
from sakuin.knowledge.page import Finding
from sakuin.platform.retry import Waiting
from sakuin.platform.supabase.forms import Time
from sakuin.platform.waiting import WaitingWork, WorkRecords
from sakuin.texts.catalogue import code_of

# Of the work that waits.
_ROWS = 200


class WordsView(BaseModel):
    """How many words of the main part of pages are found, and how many are not. A sign is one in Japanese."""

    searched: int
    only_read: int = Field(description="Of long explanations: `read_page` has them, and no question finds them.")
    left_out: dict[str, int] = Field(description="By reason: menu, form, hidden, …")
    lost: int


class MaterialView(BaseModel):
    """A material in the index."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    error_code: str | None = Field(description="Of `error`, for programs.")
    generation: int
    chunks_count: int
    words: WordsView | None = Field(description="null: it was indexed before they were counted.")
    indexed_version_id: str | None
    indexed_at: Time | None
    waiting: Waiting | None = Field(description="Since when and why its newest version waits, and until when.")


class MaterialsView(BaseModel):
    """One page of materials; `next_cursor` is the `after` of the next page."""

    materials: list[MaterialView]
    next_cursor: str | None


class StatusView(BaseModel):
    """Counts of the library."""

    materials: dict[str, int] = Field(description="Number of materials by status.")
    chunks: int
    words: WordsView | None = Field(description="The sums of all pages.")
    last_indexed: Time | None = Field(description="When a page last became searchable.")
    competing: list[dict[str, str]] = Field(description="Keys whose material belongs to another key.")
    work: WaitingWork = Field(description="What waits, the 200 oldest of it in `rows`.")


class ValidationView(BaseModel):
    """Findings about one page of materials."""

    findings: Sequence[Finding]
    next_cursor: str | None


class DescriptionView(BaseModel):
    """What the owner says of the library or of a folder, to agents."""

    folder: str = Field(default="", max_length=500, description="Empty: the whole library.")
    description: str = Field(description="One line of at most 400 bytes; empty deletes it.")


class DescriptionsView(BaseModel):
    """All descriptions."""

    descriptions: list[DescriptionView]


router = admin_routes("Library", 503)


@router.get("/status")
def get_status(services: Services) -> StatusView:
    records = services.library.records
    counts = records.counts()
    competing = [{"material": material, "key": key} for material, key, _owner in records.competing_keys()]
    last_indexed, work = records.last_indexed(), WorkRecords(records.client).waiting(limit=_ROWS)
    return StatusView.model_validate(
        {**asdict(counts), "last_indexed": last_indexed, "competing": competing, "work": work}
    )


@router.get("/materials")
def list_materials(
    services: Services,
    prefix: str = "",
    status: Literal["ready", "failed"] | None = None,
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> MaterialsView:
    materials, next_cursor = services.library.records.materials(
        prefix=prefix, status=status, after=after, limit=limit, with_new=status is None
    )
    return MaterialsView(materials=list(map(_material, materials)), next_cursor=next_cursor)


@router.get("/validation")
def list_findings(
    services: Services,
    prefix: str = "",
    after: str | None = None,
    strict: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ValidationView:
    """Compares the index with the HTML in the bucket, `limit` materials in each request."""
    findings, next_cursor = services.library.findings(prefix=prefix, after=after, strict=strict, limit=limit)
    return ValidationView(findings=findings, next_cursor=next_cursor)


@router.get("/descriptions")
def list_descriptions(services: Services) -> DescriptionsView:
    """Returns what agents read about the library and its folders, in the words of the owner."""
    rows = services.library.records.descriptions().items()
    views = [DescriptionView(folder=folder, description=description) for folder, description in rows]
    return DescriptionsView(descriptions=views)


@router.put("/descriptions", status_code=204)
def replace_description(services: Services, request: DescriptionView) -> None:
    """Replaces a description. Hidden characters and line ends are removed."""
    services.library.describe(request.folder, request.description)


def _material(state: MaterialState) -> MaterialView:
    # The row of a page that was never indexed is that of a deleted one.
    status = "waiting" if state.status == "deleted" else state.status
    return MaterialView.model_validate(
        {**asdict(state), **asdict(state.source), "status": status, "error_code": code_of(state.error)}
    )
