"""The description of the REST API: the routes of this application, and those that the function `mcp` answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

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
_SCHEMA = "#/components/schemas/{model}"


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
            _complete(super().openapi())
        return self.openapi_schema or {}


def _complete(document: dict[str, Any]) -> None:
    paths, schemas = document["paths"], document["components"]["schemas"]
    schemas = dict(sorted({**schemas, Error.__name__: Error.model_json_schema()}.items()))
    document["components"]["schemas"] = schemas
    for path, operations in paths.items():
        for operation in operations.values():
            # A path with an id may name what does not exist, and a body may be too large.
            more = [404] * ("{" in path) + [413] * ("requestBody" in operation)
            operation["responses"] = dict(sorted((operation["responses"] | _failures(*more)).items()))
            if path.startswith("/v1/"):
                tags = {*operation["tags"]}
                key = "key" if _MEMBERS & tags else "push" if "Pushes" in tags else "admin"
                operation["security"] = [{key: []}]
    for path, operations in _answered_by_mcp(schemas).items():
        paths[path] = paths.get(path, {}) | operations
    document["components"]["securitySchemes"] = _SECURITY


def _answered_by_mcp(schemas: dict[str, Any]) -> dict[str, Any]:
    """Returns the paths of the function `mcp`; adds the schemas of their requests."""
    # Nothing else of this function needs them.
    from sakuin import arguments
    from sakuin.arguments import ChangesArguments, ToolSearchArguments
    from sakuin.mcp import knowledge_schemas
    from sakuin.mcp.changes.feed import OUTPUT as CHANGES
    from sakuin.mcp.search_tools import OUTPUT

    def body(asked: type[BaseModel]) -> dict[str, Any]:
        schema = asked.model_json_schema(ref_template=_SCHEMA)
        schemas.update(schema.pop("$defs", {}))
        schemas[asked.__name__] = schema
        return {"$ref": _SCHEMA.format(model=asked.__name__)}

    def tool(name: str, does: str, asked: type[BaseModel], output: Mapping[str, Any], *failures: int) -> dict[str, Any]:
        about = f"{does}: the structured content of the MCP tool of this name."
        statuses = tuple(sorted((401, 403, 413, 422, 429, 503, *failures)))
        return _post(name, about, "knowledge", (body(asked), output), statuses)

    ids = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
        for name in ("mcp_id", "tool_id")
    ]
    return {
        "/v1/search": tool(
            "search_knowledge", "Searches pages", arguments.SearchArguments, knowledge_schemas.SEARCH_OUTPUT
        ),
        "/v1/read": tool("read_page", "Reads a page", arguments.PageArguments, knowledge_schemas.PAGE_OUTPUT, 404),
        "/v1/find": tool("find_text", "Finds an exact text", arguments.FindArguments, knowledge_schemas.FIND_OUTPUT),
        "/v1/feedback": tool(
            "give_feedback",
            "Counts whether a result answered",
            arguments.FeedbackArguments,
            knowledge_schemas.FEEDBACK_OUTPUT,
            404,
        ),
        "/v1/mcps/{mcp_id}/tools/{tool_id}/search": _post(
            "search_tool",
            "Searches with a Tool of an endpoint: the structured content of the Tool over MCP.",
            "endpoint",
            (body(ToolSearchArguments), OUTPUT),
            (401, 403, 404, 413, 422, 429, 503),
            ids,
        ),
        "/v1/changes": _get_changes("list_changes", "of pages", "knowledge", ChangesArguments, CHANGES),
        "/v1/mcps/{mcp_id}/changes": _get_changes(
            "list_tool_changes", "of the Tools of an endpoint", "endpoint", ChangesArguments, CHANGES, ids[:1]
        ),
    }


def _get_changes(
    name: str,
    what: str,
    key: str,
    asked: type[BaseModel],
    answer: Mapping[str, Any],
    ids: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    fields = asked.model_json_schema()["properties"]
    parameters = [
        {"name": field, "in": "query", "required": False, "description": schema.pop("description"), "schema": schema}
        for field, schema in fields.items()
    ]
    described = {"description": "Successful Response", "content": {"application/json": {"schema": answer}}}
    operation = {
        "tags": ["Changes"],
        "summary": name.replace("_", " ").title(),
        "description": f"Returns the changes {what} since a cursor, the oldest first.",
        "operationId": name,
        "parameters": [*ids, *parameters],
        "responses": {"200": described, **_failures(401, 403, 410, 422, 429, 503)},
        "security": [{key: []}],
    }
    return {"get": operation}


def _post(
    name: str,
    description: str,
    key: str,
    schemas: tuple[Mapping[str, Any], Mapping[str, Any]],
    failures: tuple[int, ...],
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    asked, answer = ({"application/json": {"schema": schema}} for schema in schemas)
    operation = {
        "tags": ["Search"],
        "summary": name.replace("_", " ").title(),
        "description": description,
        "operationId": name,
        "requestBody": {"required": True, "content": asked},
        "responses": {"200": {"description": "Successful Response", "content": answer}, **_failures(*failures)},
        "security": [{key: []}],
    }
    return {"post": operation | ({"parameters": parameters} if parameters else {})}


def _failures(*statuses: int) -> dict[str, Any]:
    return {str(status): meaning for status, meaning in may_fail(*statuses).items()}
