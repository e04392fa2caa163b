"""The REST API as one application, and its routes for everybody: health, its description, and the metadata of protected
resources (RFC 9728) that agents sign in by."""

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import ExplanationAsked
from sakuin.http import endpoints, index_versions, keys, library, projects, pushes, tables, upkeep
from sakuin.http.access import RestServices, Services, admin_routes
from sakuin.http.errors import AtMost, add_error_handlers, may_fail
from sakuin.limits import Limits
from sakuin.platform.asgi import Application, error_response
from sakuin.platform.supabase.forms import Time
from sakuin.platform.supabase.schema import ADVICE
from sakuin.platform.supabase.sign_in import WELL_KNOWN

# Agents in browsers read it, too, and nothing in it is secret.
_METADATA_HEADERS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}


class HealthView(BaseModel):
    """The version, and what the database says."""

    status: str = "ok"
    version: str
    schema_state: str = Field(alias="schema", description="The schema of the database, compared with this version's.")
    maintained_at: Time | None = Field(description="When a run of `maintain` last ended without an error.")
    advice: str | None = Field(description="What to do about another schema.")


open_router = APIRouter()
explain_router = admin_routes("Search", 503)
ROUTERS = (
    *(open_router, library.router, pushes.router, index_versions.vector_router),
    *(projects.router, tables.router, endpoints.tool_router, endpoints.router),
    *(upkeep.router, upkeep.check_router, index_versions.router, keys.router, explain_router),
)


@open_router.get("/healthz", tags=["Operation"])
def get_health(services: Services) -> HealthView:
    """Returns 200, also if the database does not answer."""
    state = services.health()
    advice = ADVICE.get(state.schema)
    return HealthView(version=services.version, schema=state.schema, maintained_at=state.maintained_at, advice=advice)


@open_router.get("/openapi.json", include_in_schema=False)
def get_description() -> Response:
    """Returns the description of this API and of the searches over REST, which `scripts/reference` writes."""
    return Response(files("sakuin.http").joinpath("openapi.json").read_bytes(), media_type="application/json")


@open_router.get(WELL_KNOWN + "{path:path}", include_in_schema=False)
def get_metadata(request: Request, services: Services, path: str) -> JSONResponse:
    """Returns the metadata of all resources, with a path that of the library or of an endpoint."""
    if (metadata := services.sign_in.metadata(request.scope, path)) is None:
        raise NotFound("Users cannot sign in here. Use a key")
    return JSONResponse(metadata, headers=_METADATA_HEADERS)


# The gateway takes no route that ends with a slash, so these requests arrive here and not at the function `mcp`.
@open_router.api_route("/mcp/", methods=["GET", "POST", "DELETE"], include_in_schema=False)
@open_router.api_route("/mcp/{mcp_id}/", methods=["GET", "POST", "DELETE"], include_in_schema=False)
def send_to_endpoint(request: Request) -> RedirectResponse:
    """Sends a caller to the same address without its slash, with the same method and body (RFC 9110, 308)."""
    return RedirectResponse(request.url.path.rstrip("/"), status_code=308)


@explain_router.post("/explain", responses=may_fail(404))
def explain_search(services: Services, request: ExplanationAsked) -> dict[str, Any]:
    """Shows how a question is read and ranked."""
    # The function `mcp` computes it: it has the dictionary and the embedder.
    return services.explain(request)


def rest_api(
    services: RestServices, *, longest_body: int = Limits().api_request_bytes, console: Application | None = None
) -> FastAPI:
    """Returns the application. `console` answers below `/console`."""
    # FastAPI's pages about the API load their scripts from another origin. Operations have the names of functions.
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, generate_unique_id_function=lambda route: route.name)
    app.state.services = services
    app.add_middleware(AtMost, size=longest_body)
    add_error_handlers(app, lambda request, error: error_response(request.scope, error))
    for router in ROUTERS:
        app.include_router(router)
    if console:
        app.mount("/console", console)
        app.add_api_route("/console", lambda: RedirectResponse("/console/"), include_in_schema=False)
    return app
