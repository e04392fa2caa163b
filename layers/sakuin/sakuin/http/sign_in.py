"""The metadata of protected resources (RFC 9728): where an agent has its user sign in."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from sakuin.errors import NotFound
from sakuin.platform.supabase.sign_in import LIBRARY, WELL_KNOWN, SignIn

# Agents in browsers read it, too, and nothing in it is secret.
_HEADERS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}


def sign_in_router(sign_in: SignIn) -> APIRouter:
    """Returns the well-known locations of the library, of each endpoint, and of all of them."""
    # RFC 9728 describes them; they are no part of the REST API.
    routes = APIRouter(include_in_schema=False)

    def metadata(request: Request, path: str) -> JSONResponse:
        found: dict[str, Any] | None = sign_in.metadata(request.scope, path)
        if found is None:
            raise NotFound("Users cannot sign in here. Use a key")
        return JSONResponse(found, headers=_HEADERS)

    @routes.get(WELL_KNOWN)
    def get_metadata(request: Request) -> JSONResponse:
        return metadata(request, "")

    @routes.get(WELL_KNOWN + LIBRARY)
    def get_metadata_of_library(request: Request) -> JSONResponse:
        return metadata(request, LIBRARY)

    @routes.get(WELL_KNOWN + LIBRARY + "/{mcp_id}")
    def get_metadata_of_endpoint(request: Request, mcp_id: str) -> JSONResponse:
        return metadata(request, f"{LIBRARY}/{mcp_id}")

    return routes
