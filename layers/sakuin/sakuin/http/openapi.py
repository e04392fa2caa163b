"""The description of the REST API: the routes of this application, and those that the function `mcp` answers."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, FastAPI, Query
from fastapi.openapi.utils import get_openapi

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


class DescribedApi(FastAPI):
    """An application that describes itself completely at `/openapi.json`. Operations have the names of functions."""

    def __init__(self, version: str) -> None:
        # FastAPI's pages about the API load their scripts from another origin.
        super().__init__(
            title="Sakuin",
            version=version,
            description=_ABOUT,
            docs_url=None,
            redoc_url=None,
            generate_unique_id_function=lambda route: route.name,
        )

    def openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI document."""
        if self.openapi_schema is None:
            others = get_openapi(title=self.title, version=self.version, routes=_answered_by_mcp().routes)
            _complete(super().openapi(), others)
        return self.openapi_schema or {}


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
    # Nothing else of this function needs them.
    from sakuin import arguments
    from sakuin.mcp.changes.feed import OUTPUT as CHANGES
    from sakuin.mcp.knowledge import schemas as knowledge_schemas
    from sakuin.mcp.search_tools import OUTPUT

    routes = APIRouter(prefix="/v1", generate_unique_id_function=lambda route: route.name)

    def answer(key: str, tag: str, output: Mapping[str, Any], *failures: int) -> dict[str, Any]:
        content = {"application/json": {"schema": output}}
        responses = {200: {"content": content}, **may_fail(*sorted({401, 403, 422, 429, 503, *failures}))}
        return {"tags": [tag], "responses": responses, "openapi_extra": {"security": [{key: []}]}}

    @routes.post("/search", **answer("knowledge", "Search", knowledge_schemas.SEARCH_OUTPUT, 413))
    def search_knowledge(request: arguments.SearchArguments) -> None:
        """Searches pages: the structured content of the MCP tool of this name."""

    @routes.post("/read", **answer("knowledge", "Search", knowledge_schemas.PAGE_OUTPUT, 404, 413))
    def read_page(request: arguments.PageArguments) -> None:
        """Reads a page: the structured content of the MCP tool of this name."""

    @routes.post("/find", **answer("knowledge", "Search", knowledge_schemas.FIND_OUTPUT, 413))
    def find_text(request: arguments.FindArguments) -> None:
        """Finds an exact text: the structured content of the MCP tool of this name."""

    @routes.post("/feedback", **answer("knowledge", "Search", knowledge_schemas.FEEDBACK_OUTPUT, 404, 413))
    def give_feedback(request: arguments.FeedbackArguments) -> None:
        """Counts whether a result answered: the structured content of the MCP tool of this name."""

    @routes.post("/mcps/{mcp_id}/tools/{tool_id}/search", **answer("endpoint", "Search", OUTPUT, 404, 413))
    def search_tool(mcp_id: UUID, tool_id: UUID, request: arguments.ToolSearchArguments) -> None:
        """Searches with a Tool of an endpoint: the structured content of the Tool over MCP."""

    @routes.get("/changes", **answer("knowledge", "Changes", CHANGES, 410))
    def list_changes(request: Annotated[arguments.ChangesArguments, Query()]) -> None:
        """Returns the changes of pages since a cursor, the oldest first."""

    @routes.get("/mcps/{mcp_id}/changes", **answer("endpoint", "Changes", CHANGES, 410))
    def list_tool_changes(mcp_id: UUID, request: Annotated[arguments.ChangesArguments, Query()]) -> None:
        """Returns the changes of the Tools of an endpoint since a cursor, the oldest first."""

    return routes
