"""The routes of Search Tools, and of MCP endpoints with their keys and bindings."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StrictBool, StrictStr

from sakuin.http.access import PUBLISHING, Caller, Records, Tables, member_routes
from sakuin.http.errors import StrictRequest, may_fail
from sakuin.tables.model import McpEndpoint, Tool


class NewTool(StrictRequest):
    """A new Search Tool."""

    table_id: UUID
    json_path: str = Field(description='RFC 6901 pointer of the searched part; "" for the whole document.')
    type: Literal["search"] = "search"
    name: str = Field(description="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None


class ToolChange(StrictRequest):
    """The changes of a Tool."""

    name: str | None = None
    description: str | None = None
    enabled: bool | None = None


class ToolsView(BaseModel):
    """A project's Tools."""

    tools: Sequence[Tool]


FixedFilter = Annotated[
    dict[str, StrictStr | StrictBool | float] | None,
    Field(description='Only entries with these values: {"tenant": 42}; {} for all. Agents cannot see it.'),
]


class NewEndpoint(StrictRequest):
    """A new MCP endpoint with its Tools, and the entries that each of them has there."""

    name: str
    tool_ids: list[UUID] = Field(default=[], max_length=100)
    filter: FixedFilter = None


class EndpointChange(StrictRequest):
    """The changes of an endpoint."""

    name: str | None = None
    status: Literal["enabled", "disabled"] | None = None


class Rotation(StrictRequest):
    """How long the old key stays valid."""

    overlap_seconds: int = Field(default=3600, ge=0, le=7 * 24 * 3600)


class BindingChange(StrictRequest):
    """The status of a Tool's binding, and the entries that the endpoint has."""

    status: Literal["enabled", "disabled"] = "enabled"
    filter: FixedFilter = None


class EndpointsView(BaseModel):
    """A project's endpoints."""

    mcps: Sequence[McpEndpoint]


class EndpointKeyView(BaseModel):
    """An endpoint and its key, which is shown only once."""

    mcp: McpEndpoint
    key: str


tool_router = member_routes("Tools")


@tool_router.post("/projects/{project_id}/tools", status_code=201, dependencies=PUBLISHING)
def create_tool(caller: Caller, tables: Tables, project_id: UUID, request: NewTool) -> Tool:
    """Creates a Search Tool. `metadata.search_index.state` shows when it can be searched."""
    part = request.model_dump(include={"json_path", "name", "description"})
    return tables.create_tool(caller, str(project_id), str(request.table_id), **part)


@tool_router.get("/projects/{project_id}/tools")
def list_tools(caller: Caller, records: Records, project_id: UUID) -> ToolsView:
    return ToolsView(tools=records.tools(caller, str(project_id)))


@tool_router.get("/tools/{tool_id}")
def get_tool(caller: Caller, records: Records, tool_id: UUID) -> Tool:
    return records.tool(caller, str(tool_id))


@tool_router.patch("/tools/{tool_id}", dependencies=PUBLISHING, responses=may_fail(409))
def change_tool(caller: Caller, records: Records, tool_id: UUID, request: ToolChange) -> Tool:
    """Changes the name, the description or `enabled`."""
    return records.change_tool(caller, str(tool_id), **request.model_dump())


@tool_router.post("/tools/{tool_id}/reindex", status_code=202, dependencies=PUBLISHING)
def reindex_tool(caller: Caller, records: Records, tool_id: UUID) -> Tool:
    return records.reindex_tool(caller, str(tool_id))


@tool_router.delete("/tools/{tool_id}", status_code=204, dependencies=PUBLISHING)
def delete_tool(caller: Caller, records: Records, tool_id: UUID) -> None:
    records.delete_tool(caller, str(tool_id))


router = member_routes("Endpoints")


@router.post("/projects/{project_id}/mcps", status_code=201, responses=may_fail(409))
def create_endpoint(caller: Caller, records: Records, project_id: UUID, request: NewEndpoint) -> EndpointKeyView:
    """Creates an endpoint with its Tools. Its key is shown only once."""
    tool_ids = [str(tool_id) for tool_id in request.tool_ids]
    made = records.create_endpoint(caller, str(project_id), name=request.name, tools=tool_ids, fixed=request.filter)
    return _with_key(made)


@router.get("/projects/{project_id}/mcps")
def list_endpoints(caller: Caller, records: Records, project_id: UUID) -> EndpointsView:
    return EndpointsView(mcps=records.endpoints(caller, str(project_id)))


@router.get("/mcps/{mcp_id}")
def get_endpoint(caller: Caller, records: Records, mcp_id: UUID) -> McpEndpoint:
    return records.endpoint(caller, str(mcp_id))


@router.patch("/mcps/{mcp_id}")
def change_endpoint(caller: Caller, records: Records, mcp_id: UUID, request: EndpointChange) -> McpEndpoint:
    """Changes the name or the status."""
    return records.change_endpoint(caller, str(mcp_id), name=request.name, status=request.status)


@router.post("/mcps/{mcp_id}/rotate")
def rotate_endpoint_key(
    caller: Caller, records: Records, mcp_id: UUID, request: Rotation | None = None
) -> EndpointKeyView:
    """Returns a new key, shown only once. The old key stays valid for `overlap_seconds`."""
    overlap = (request or Rotation()).overlap_seconds
    return _with_key(records.rotate(caller, str(mcp_id), overlap_seconds=overlap))


@router.delete("/mcps/{mcp_id}", status_code=204)
def delete_endpoint(caller: Caller, records: Records, mcp_id: UUID) -> None:
    records.delete_endpoint(caller, str(mcp_id))


@router.put("/mcps/{mcp_id}/tools/{tool_id}", responses=may_fail(409))
def bind_tool(
    caller: Caller, records: Records, mcp_id: UUID, tool_id: UUID, request: BindingChange | None = None
) -> McpEndpoint:
    """Binds a Tool, or changes the status or the fixed filter of its binding."""
    change = request or BindingChange()
    return records.bind(caller, str(mcp_id), str(tool_id), status=change.status, fixed=change.filter)


@router.delete("/mcps/{mcp_id}/tools/{tool_id}")
def unbind_tool(caller: Caller, records: Records, mcp_id: UUID, tool_id: UUID) -> McpEndpoint:
    return records.unbind(caller, str(mcp_id), str(tool_id))


def _with_key(made: tuple[McpEndpoint, str]) -> EndpointKeyView:
    return EndpointKeyView(mcp=made[0], key=made[1])
