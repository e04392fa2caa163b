"""The REST API of the library."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from sakuin.errors import SakuinError
from sakuin.http.request_size import AtMost
from sakuin.http.unfinished_work import WorkView
from sakuin.knowledge.library import Library
from sakuin.limits import Limits
from sakuin.platform.asgi import answer_to
from sakuin.platform.keys import KeyRing, Note, challenge, matching_hash


class MaterialView(BaseModel):
    """What is held of a material."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: str | None
    work: list[WorkView] = Field(default=[], description="Messages about it that are not done.")


class MaterialsView(BaseModel):
    """One page of materials; `next_cursor` is the `after` of the next."""

    materials: list[MaterialView]
    next_cursor: str | None


class StatusView(BaseModel):
    """Counts of the whole library."""

    materials: dict[str, int] = Field(description="How many by status.")
    chunks: int
    waiting: list[dict[str, str]] = Field(description="Keys that wait for a material which another key owns.")


class VersionView(BaseModel):
    """One version of one S3 object."""

    key: str
    version_id: str


class VersionsView(BaseModel):
    """Uploaded versions to ask about."""

    versions: list[VersionView] = Field(max_length=500)


class ReceiptView(BaseModel):
    """What became of an uploaded version."""

    key: str
    version_id: str
    outcome: str = Field(description="applied, failed, superseded or waiting")
    reason: str | None


class ReceiptsView(BaseModel):
    """Receipts of those versions that have been worked on."""

    receipts: list[ReceiptView]


class AnchorView(BaseModel):
    """One indexed anchor."""

    anchor: str
    learns: list[str]
    learns_given: list[str] | None = Field(description="An author's items as given; null when an author gave none.")


class AnchorsView(BaseModel):
    """The indexed anchors by material; materials that are not indexed are left out."""

    materials: dict[str, list[AnchorView]]


class FindingView(BaseModel):
    """One thing to mend."""

    severity: str
    rule: str
    material: str
    anchor: str | None
    message: str


class ValidationView(BaseModel):
    """Findings about one page of materials."""

    findings: list[FindingView]
    next_cursor: str | None


class ReapplyView(BaseModel):
    """How many materials were asked for again."""

    asked: int


class KeyUseView(BaseModel):
    """A key of the deployment that was used."""

    hash: str = Field(description="The key's hash; `sakuin keys list` shows its first 12 digits.")
    last_used_on: str = Field(description="The day, in UTC.")


class KeysView(BaseModel):
    """Those keys of the deployment that were used in the last year."""

    keys: list[KeyUseView]


def rest_api(
    library: Library,
    keys: KeyRing,
    version: str,
    *routers: APIRouter,
    admin_routers: Sequence[APIRouter] = (),
    used: Note = lambda _key_hash: None,
    days: Callable[[], Mapping[str, str]] = dict,
    work_of: Callable[[Sequence[str]], Mapping[str, Sequence[Any]]] = lambda _materials: {},
    longest_body: int = Limits().api_request_bytes,
) -> FastAPI:
    """The FastAPI application; its own part of /v1 and `admin_routers` need an admin key, `routers` guard themselves.

    `used` hears of each admin key that opened something, `days` says when the deployment's keys were last used,
    `work_of` what of materials is not done.
    """
    app = FastAPI(title="Sakuin", version=version, docs_url="/docs", openapi_url="/openapi.json", redoc_url=None)
    app.add_middleware(AtMost, size=longest_body)

    def admin(request: Request) -> None:
        if not noted(request):
            raise HTTPException(401, "Send the header Authorization: Bearer <admin key>", challenge(request.headers))

    def noted(request: Request) -> bool:
        key_hash = matching_hash(request.headers, keys)
        if key_hash is not None:
            used(key_hash)
        return key_hash is not None

    @app.exception_handler(SakuinError)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, *answer_to(error, request.headers))

    @app.exception_handler(RequestValidationError)
    async def refused(_request: Request, error: RequestValidationError) -> JSONResponse:
        # Without the input: it may be no Unicode, and it is the caller's own.
        said = [{"type": one["type"], "loc": one["loc"], "msg": one["msg"]} for one in error.errors()]
        return JSONResponse({"detail": said}, 422)

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        """Whether the functions answer; asks no other system."""
        return {"status": "ok", "version": version}

    guarded: dict[str, Any] = {"dependencies": [Depends(admin)]}

    @app.get("/v1/status", **guarded)
    def status() -> StatusView:
        counts = dict(library.records.counts())
        chunks = counts.pop("chunks")
        waiting = [{"material": material, "key": key} for material, key, _owner in library.records.competing_keys()]
        return StatusView(materials=counts, chunks=chunks, waiting=waiting)

    @app.get("/v1/materials", **guarded)
    def materials(
        prefix: str = "", after: str | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 200
    ) -> MaterialsView:
        page = library.records.materials(prefix=prefix, after=after, limit=limit)
        work = work_of([item.material for item in page.items])
        views = [_material(item, work.get(item.material, ())) for item in page.items]
        return MaterialsView(materials=views, next_cursor=page.next_cursor)

    @app.post("/v1/receipts", **guarded)
    def receipts(asked: VersionsView) -> ReceiptsView:
        """What became of uploaded versions; those not worked on yet are left out."""
        found = library.records.upload_results([(item.key, item.version_id) for item in asked.versions])
        return ReceiptsView(receipts=[ReceiptView(**asdict(item)) for item in found])

    @app.post("/v1/anchors", **guarded)
    def anchors(materials: Annotated[list[str], Field(max_length=500)]) -> AnchorsView:
        """What the index says of some materials, for checks against pages that are not uploaded yet."""
        found = library.records.indexed_materials(materials)
        views = {
            material: [AnchorView.model_validate(asdict(chunk)) for chunk in indexed.chunks]
            for material, indexed in found.items()
        }
        return AnchorsView(materials=views)

    @app.get("/v1/validation", **guarded)
    def validation(
        prefix: str = "",
        after: str | None = None,
        strict: bool = False,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> ValidationView:
        """The index against the HTML in the bucket, `limit` materials at a time."""
        findings, next_cursor = library.findings(prefix=prefix, after=after, strict=strict, limit=limit)
        return ValidationView(findings=[FindingView(**asdict(item)) for item in findings], next_cursor=next_cursor)

    @app.post("/v1/reapply", status_code=202, **guarded)
    def reapply() -> ReapplyView:
        """Asks for every material again that was built with another model, recipe or analyzer."""
        return ReapplyView(asked=library.reapply_outdated())

    @app.get("/v1/keys", **guarded)
    def used_keys() -> KeysView:
        """On which day the keys of `/mcp` and `/v1` were last used; those not used in a year are left out."""
        return KeysView(keys=[KeyUseView(hash=key_hash, last_used_on=day) for key_hash, day in days().items()])

    for router in routers:
        app.include_router(router, dependencies=[Depends(noted)])
    for router in admin_routers:
        app.include_router(router, **guarded)
    return app


def _material(state: Any, work: Sequence[Any]) -> MaterialView:
    source = state.source
    return MaterialView(
        material=state.material,
        key=source.key,
        version_id=source.version_id,
        status=state.status,
        error=state.error,
        generation=state.generation,
        chunks_count=state.chunks_count,
        indexed_version_id=state.indexed_version_id,
        indexed_at=state.indexed_at,
        work=[WorkView.model_validate(row) for row in work],
    )
