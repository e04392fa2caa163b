"""The routes of Search Tools, and of MCP endpoints with their keys and bindings."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sakuin.http.errors import Asked, may_fail, member_routes
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import McpEndpoint, Tool


class ToolAsked(Asked):
    """A new Search Tool."""

    table_id: UUID
    json_path: str = Field(description='RFC 6901 pointer of the searched part; "" for the whole document.')
    type: Literal["search"] = "search"
    name: str = Field(description="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None


class ToolChangeAsked(Asked):
    """The changes of a Tool."""

    name: str | None = None
    description: str | None = None
    enabled: bool | None = None


class ToolsView(BaseModel):
    """A project's Tools."""

    tools: Sequence[Tool]


class EndpointAsked(Asked):
    """A new MCP endpoint with its Tools."""

    name: str
    tool_ids: list[UUID] = Field(default=[], max_length=100)


class EndpointChangeAsked(Asked):
    """The changes of an endpoint."""

    name: str | None = None
    status: Literal["enabled", "disabled"] | None = None


class RotationAsked(Asked):
    """How long the old key stays valid."""

    overlap_seconds: int = Field(default=3600, ge=0, le=7 * 24 * 3600)


class BindingAsked(Asked):
    """The status of a Tool's binding."""

    status: Literal["enabled", "disabled"] = "enabled"


class EndpointsView(BaseModel):
    """A project's endpoints."""

    mcps: Sequence[McpEndpoint]


class EndpointKeyView(BaseModel):
    """An endpoint and its key, which is shown only once."""

    mcp: McpEndpoint
    key: str


def tool_routes(records: ProjectRecords, tables: TableAdmin, user: Any, changing: Any) -> APIRouter:
    """Returns the routes. `user` is the dependency that gives the caller; `changing` are those of a change."""
    routes = member_routes("Tools")

    @routes.post("/projects/{project_id}/tools", status_code=201, dependencies=changing)
    def create_tool(caller: user, project_id: UUID, asked: ToolAsked) -> Tool:
        """Creates a Search Tool. `metadata.search_index.state` shows when it can be searched."""
        part = asked.model_dump(include={"json_path", "name", "description"})
        return tables.create_tool(caller, str(project_id), str(asked.table_id), **part)

    @routes.get("/projects/{project_id}/tools")
    def list_tools(caller: user, project_id: UUID) -> ToolsView:
        return ToolsView(tools=records.tools(caller, str(project_id)))

    @routes.get("/tools/{tool_id}")
    def get_tool(caller: user, tool_id: UUID) -> Tool:
        return records.tool(caller, str(tool_id))

    @routes.patch("/tools/{tool_id}", dependencies=changing, responses=may_fail(409))
    def change_tool(caller: user, tool_id: UUID, asked: ToolChangeAsked) -> Tool:
        """Changes the name, the description or `enabled`."""
        return records.change_tool(caller, str(tool_id), **asked.model_dump())

    @routes.post("/tools/{tool_id}/reindex", status_code=202, dependencies=changing)
    def reindex_tool(caller: user, tool_id: UUID) -> Tool:
        return records.reindex_tool(caller, str(tool_id))

    @routes.delete("/tools/{tool_id}", status_code=204, dependencies=changing)
    def delete_tool(caller: user, tool_id: UUID) -> None:
        records.delete_tool(caller, str(tool_id))

    return routes


def endpoint_routes(records: ProjectRecords, user: Any) -> APIRouter:
    """Returns the routes. `user` is the annotated dependency that gives the caller."""
    routes = member_routes("Endpoints")

    @routes.post("/projects/{project_id}/mcps", status_code=201, responses=may_fail(409))
    def create_endpoint(caller: user, project_id: UUID, asked: EndpointAsked) -> EndpointKeyView:
        """Creates an endpoint with its Tools. Its key is shown only once."""
        tool_ids = [str(tool_id) for tool_id in asked.tool_ids]
        return _with_key(records.create_endpoint(caller, str(project_id), name=asked.name, tools=tool_ids))

    @routes.get("/projects/{project_id}/mcps")
    def list_endpoints(caller: user, project_id: UUID) -> EndpointsView:
        return EndpointsView(mcps=records.endpoints(caller, str(project_id)))

    @routes.get("/mcps/{mcp_id}")
    def get_endpoint(caller: user, mcp_id: UUID) -> McpEndpoint:
        return records.endpoint(caller, str(mcp_id))

    @routes.patch("/mcps/{mcp_id}")
    def change_endpoint(caller: user, mcp_id: UUID, asked: EndpointChangeAsked) -> McpEndpoint:
        """Changes the name or the status."""
        return records.change_endpoint(caller, str(mcp_id), name=asked.name, status=asked.status)

    @routes.post("/mcps/{mcp_id}/rotate")
    def rotate_endpoint_key(caller: user, mcp_id: UUID, asked: RotationAsked | None = None) -> EndpointKeyView:
        """Returns a new key, shown only once. The old key stays valid for `overlap_seconds`."""
        overlap = (asked or RotationAsked()).overlap_seconds
        return _with_key(records.rotate(caller, str(mcp_id), overlap_seconds=overlap))

    @routes.delete("/mcps/{mcp_id}", status_code=204)
    def delete_endpoint(caller: user, mcp_id: UUID) -> None:
        records.delete_endpoint(caller, str(mcp_id))

    @routes.put("/mcps/{mcp_id}/tools/{tool_id}", responses=may_fail(409))
    def bind_tool(caller: user, mcp_id: UUID, tool_id: UUID, asked: BindingAsked | None = None) -> McpEndpoint:
        """Binds a Tool, or changes the status of its binding."""
        status = (asked or BindingAsked()).status
        return records.bind(caller, str(mcp_id), str(tool_id), status=status)

    @routes.delete("/mcps/{mcp_id}/tools/{tool_id}")
    def unbind_tool(caller: user, mcp_id: UUID, tool_id: UUID) -> McpEndpoint:
        return records.unbind(caller, str(mcp_id), str(tool_id))

    return routes


def _with_key(made: tuple[McpEndpoint, str]) -> EndpointKeyView:
    return EndpointKeyView(mcp=made[0], key=made[1])
