"""The OpenAPI document of the REST API: the routes of the function `api`, and those that the function `mcp` answers."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from reference_pages import ANSWERS
from sakuin import __version__, arguments
from sakuin.http.app import rest_api
from sakuin.http.errors import Error, may_fail

_ABOUT = """\
Every error of these routes is `{"detail", "code", "request_id"}`, also an unexpected one (500, `internal`). Only the \
gateway's own have `message` instead: 429 above its rate, 413 above its size, 503 when no function could start."""
_SECURITY = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An admin key, the token of a Supabase user himself, or to read a key of the project",
    },
    "admin": {"type": "http", "scheme": "bearer", "description": "An admin key"},
    "push": {"type": "http", "scheme": "bearer", "description": "A key that pushes, for its folder, or an admin key"},
    "knowledge": {
        "type": "http",
        "scheme": "bearer",
        "description": "A knowledge key, as for `POST /mcp`; with `LibraryForUsers` a Supabase user's token",
    },
    "endpoint": {
        "type": "http",
        "scheme": "bearer",
        "description": "The key of the MCP endpoint, or the token of a member of its project",
    },
}
_MEMBERS = {"Projects", "Tables", "Tools", "Endpoints"}


def openapi() -> dict[str, Any]:
    """Returns the document; what is behind the routes is not asked."""
    nothing: Any = None
    app = rest_api(nothing)
    document = get_openapi(title="Sakuin", version=__version__, description=_ABOUT, routes=app.routes)
    others = get_openapi(title="Sakuin", version=__version__, routes=_answered_by_mcp().routes)
    _complete(document, others)
    return document


def _complete(document: dict[str, Any], others: Mapping[str, Any]) -> None:
    paths, schemas = document["paths"], document["components"]["schemas"]
    for path, operations in paths.items():
        for operation in operations.values():
            # A path with an id may name what does not exist, and a body may be too large.
            more = [404] * ("{" in path) + [413] * ("requestBody" in operation)
            failures = {str(status): meaning for status, meaning in may_fail(*more).items()}
            operation["responses"] = dict(sorted((operation["responses"] | failures).items()))
            if path.startswith("/v1/"):
                tags = {*operation["tags"]}
                key = "key" if _MEMBERS & tags else "push" if "Pushes" in tags else "admin"
                operation["security"] = [{key: []}]
    for path, operations in others["paths"].items():
        paths[path] = paths.get(path, {}) | operations
    schemas |= others["components"]["schemas"] | {Error.__name__: Error.model_json_schema()}
    document["components"] = {"schemas": dict(sorted(schemas.items())), "securitySchemes": _SECURITY}


def _answered_by_mcp() -> APIRouter:
    """Returns the routes that the function `mcp` answers, for the document alone."""
    routes = APIRouter(prefix="/v1", generate_unique_id_function=lambda route: route.name)

    def answer(key: str, tag: str, tool: str, *failures: int) -> dict[str, Any]:
        content = {"application/json": {"schema": _schema(ANSWERS[tool])}}
        responses = {200: {"content": content}, **may_fail(*sorted({401, 403, 422, 429, 503, *failures}))}
        return {"tags": [tag], "responses": responses, "openapi_extra": {"security": [{key: []}]}}

    @routes.post("/search", **answer("knowledge", "Search", "search_knowledge", 413))
    def search_knowledge(request: arguments.SearchArguments) -> None:
        """Searches pages: the structured content of the MCP tool of this name."""

    @routes.post("/read", **answer("knowledge", "Search", "read_page", 404, 413))
    def read_page(request: arguments.PageArguments) -> None:
        """Reads a page: the structured content of the MCP tool of this name."""

    @routes.post("/find", **answer("knowledge", "Search", "find_text", 413))
    def find_text(request: arguments.FindArguments) -> None:
        """Finds an exact text: the structured content of the MCP tool of this name."""

    @routes.post("/feedback", **answer("knowledge", "Search", "give_feedback", 404, 413))
    def give_feedback(request: arguments.FeedbackArguments) -> None:
        """Counts whether a result answered: the structured content of the MCP tool of this name."""

    @routes.post("/mcps/{mcp_id}/tools/{tool_id}/search", **answer("endpoint", "Search", "a Search Tool", 404, 413))
    def search_tool(mcp_id: UUID, tool_id: UUID, request: arguments.ToolSearchRequest) -> None:
        """Searches with a Tool of an endpoint: what the Tool answers over MCP, without ids of turbopuffer."""

    return routes


def _schema(members: Mapping[str, str]) -> dict[str, Any]:
    """Returns the schema of an answer from its members by their paths; each member follows the one around it."""
    answer: dict[str, Any] = {"type": "object", "properties": {"note": {"description": "Read."}}}
    for path, description in members.items():
        *around, name = path.split(".")
        parent = answer
        for step in around:
            parent = parent["properties"][step.removesuffix("[]")]
            if step.endswith("[]"):
                parent = parent.setdefault("items", {"properties": {}})
        parent.setdefault("properties", {})[name] = {"description": description}
    return answer
