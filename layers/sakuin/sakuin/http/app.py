"""The REST API of the library, and the metadata of protected resources (RFC 9728) that agents sign in by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, Field

from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import ExplanationAsked
from sakuin.http.errors import AtMost, add_error_handlers, check_query, may_fail
from sakuin.http.openapi import DescribedApi
from sakuin.http.pushes import PushKey, folder_of_key, push_router
from sakuin.http.unfinished_work import WorkView
from sakuin.knowledge.library import Library
from sakuin.knowledge.model import MaterialState
from sakuin.knowledge.validation import Finding
from sakuin.limits import Limits
from sakuin.platform.asgi import Application
from sakuin.platform.http_errors import error_response
from sakuin.platform.keys import RecordUse, admin_hash, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.forms import Time
from sakuin.platform.supabase.schema import ADVICE, SchemaState
from sakuin.platform.supabase.sign_in import WELL_KNOWN, SignIn

# Agents in browsers read it, too, and nothing in it is secret.
_METADATA_HEADERS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}


def sign_in_router(sign_in: SignIn) -> APIRouter:
    """Returns the well-known location: that of all resources, with a path that of the library or of an endpoint."""
    # RFC 9728 describes them; they are no part of the REST API.
    routes = APIRouter(include_in_schema=False)

    @routes.get(WELL_KNOWN + "{path:path}")
    def get_metadata(request: Request, path: str) -> JSONResponse:
        if (metadata := sign_in.metadata(request.scope, path)) is None:
            raise NotFound("Users cannot sign in here. Use a key")
        return JSONResponse(metadata, headers=_METADATA_HEADERS)

    return routes


class MaterialView(BaseModel):
    """A material in the index."""

    material: str
    key: str
    version_id: str | None
    status: str
    error: str | None
    generation: int
    chunks_count: int
    indexed_version_id: str | None
    indexed_at: Time | None
    work: list[WorkView] = Field(default=[], description="Unfinished work about it.")


class MaterialsView(BaseModel):
    """One page of materials; `next_cursor` is the `after` of the next page."""

    materials: list[MaterialView]
    next_cursor: str | None


class StatusView(BaseModel):
    """Counts of the library."""

    materials: dict[str, int] = Field(description="Number of materials by status.")
    chunks: int
    last_indexed: Time | None = Field(description="When a page last became searchable.")
    waiting: list[dict[str, str]] = Field(description="Keys whose material belongs to another key.")


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


def rest_api(
    library: Library,
    keys: KeyRing,
    version: str,
    *routers: APIRouter,
    admin_routers: Sequence[APIRouter] = (),
    push_routers: Sequence[APIRouter] = (),
    open_routers: Sequence[APIRouter] = (),
    record_use: RecordUse = lambda _key_hash: None,
    push_key: PushKey = lambda _headers: None,
    work_of: Callable[[Sequence[str]], Mapping[str, Sequence[Any]]] = lambda _materials: {},
    longest_body: int = Limits().api_request_bytes,
    console: Application | None = None,
    schema: Callable[[], SchemaState] = lambda: "current",
) -> FastAPI:
    """Returns the FastAPI application. Its own routes and `admin_routers` need an admin key; `routers` check callers.
    `push_routers` take an admin key or one that pushes, `open_routers` are for everybody.

    `record_use` records the use of a key, `push_key` returns the valid one that pushes, `work_of` the unfinished work
    of materials. `console` answers below `/console`, `schema` compares the database with this version.
    """
    app = DescribedApi(version)
    app.add_middleware(AtMost, size=longest_body)

    def admin(request: Request) -> None:
        record_use(admin_hash(request.headers, keys))
        check_query(request)

    def record_admin(request: Request) -> None:
        if (key_hash := matching_hash(request.headers, keys)) is not None:
            record_use(key_hash)

    add_error_handlers(app, lambda request, error: error_response(request.scope, error))

    @app.get("/healthz", tags=["Operation"])
    def get_health() -> dict[str, str]:
        """Returns 200, also if the database does not answer. `schema` compares it with the one of this version."""
        state = schema()
        return {"status": "ok", "version": version, "schema": state} | (
            {"advice": ADVICE[state]} if state in ADVICE else {}
        )

    guarded: dict[str, Any] = {"dependencies": [Depends(admin)], "responses": may_fail(401, 422)}
    routes = APIRouter(prefix="/v1", tags=["Library"], responses=may_fail(503))

    @routes.get("/status")
    def get_status() -> StatusView:
        counts = dict(library.records.counts())
        chunks = counts.pop("chunks")
        waiting = [{"material": material, "key": key} for material, key, _owner in library.records.competing_keys()]
        last_indexed = library.records.last_indexed()
        return StatusView(materials=counts, chunks=chunks, last_indexed=last_indexed, waiting=waiting)

    @routes.get("/materials")
    def list_materials(
        prefix: str = "",
        status: Literal["ready", "failed"] | None = None,
        after: str | None = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 200,
    ) -> MaterialsView:
        materials, next_cursor = library.records.materials(prefix=prefix, status=status, after=after, limit=limit)
        work = work_of([item.material for item in materials])
        views = [_material(item, work.get(item.material, ())) for item in materials]
        return MaterialsView(materials=views, next_cursor=next_cursor)

    @routes.get("/validation")
    def list_findings(
        prefix: str = "",
        after: str | None = None,
        strict: bool = False,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> ValidationView:
        """Compares the index with the HTML in the bucket, `limit` materials in each request."""
        findings, next_cursor = library.findings(prefix=prefix, after=after, strict=strict, limit=limit)
        return ValidationView(findings=findings, next_cursor=next_cursor)

    @routes.get("/descriptions")
    def list_descriptions() -> DescriptionsView:
        """Returns what agents read about the library and its folders, in the words of the owner."""
        rows = library.records.descriptions().items()
        views = [DescriptionView(folder=folder, description=description) for folder, description in rows]
        return DescriptionsView(descriptions=views)

    @routes.put("/descriptions", status_code=204)
    def replace_description(asked: DescriptionView) -> None:
        """Replaces a description. Hidden characters and line ends are removed."""
        library.describe(asked.folder, asked.description)

    for router in routers:
        app.include_router(router, dependencies=[Depends(record_admin)])
    folder_of = folder_of_key(keys, push_key, record_use)
    for router in (push_router(library, folder_of), *push_routers):
        app.include_router(router, dependencies=[Depends(folder_of)])
    for router in open_routers:
        app.include_router(router)
    for router in (routes, *admin_routers):
        app.include_router(router, **guarded)
    if console:
        app.mount("/console", console)

        @app.get("/console", include_in_schema=False)
        def open_console() -> RedirectResponse:
            return RedirectResponse("/console/")

    return app


def explain_router(explain: Callable[[ExplanationAsked], Mapping[str, Any]]) -> APIRouter:
    """Returns the route of explanations, which the function `mcp` computes: it has the dictionary and the embedder."""
    routes = APIRouter(prefix="/v1", tags=["Search"], responses=may_fail(404, 503))

    @routes.post("/explain")
    def explain_search(asked: ExplanationAsked) -> dict[str, Any]:
        """Shows how a question is read and ranked."""
        return dict(explain(asked))

    return routes


def _material(state: MaterialState, work: Sequence[Any]) -> MaterialView:
    views = [WorkView.model_validate(row) for row in work]
    return MaterialView.model_validate({**asdict(state), **asdict(state.source), "work": views})
