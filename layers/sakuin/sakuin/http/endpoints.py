"""The routes of MCP endpoints, their keys and their Tools."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from sakuin.http import views
from sakuin.http.errors import may_fail, member_routes
from sakuin.tables.admin.postgres import ProjectRecords


def endpoint_routes(records: ProjectRecords, user: Any) -> APIRouter:
    """Returns the routes. `user` is the annotated dependency that gives the caller."""
    routes = member_routes("Endpoints")

    @routes.post("/projects/{project_id}/mcps", status_code=201, responses=may_fail(409))
    def create_endpoint(caller: user, project_id: UUID, asked: views.EndpointAsked) -> views.EndpointKeyView:
        """Creates an endpoint with its Tools. Its key is shown only once."""
        tool_ids = [str(tool_id) for tool_id in asked.tool_ids]
        return _with_key(records.create_endpoint(caller, str(project_id), name=asked.name, tools=tool_ids))

    @routes.get("/projects/{project_id}/mcps")
    def list_endpoints(caller: user, project_id: UUID) -> views.EndpointsView:
        return views.EndpointsView(
            mcps=[views.EndpointView.model_validate(one) for one in records.endpoints(caller, str(project_id))]
        )

    @routes.get("/mcps/{mcp_id}")
    def get_endpoint(caller: user, mcp_id: UUID) -> views.EndpointView:
        return views.EndpointView.model_validate(records.endpoint(caller, str(mcp_id)))

    @routes.patch("/mcps/{mcp_id}")
    def change_endpoint(caller: user, mcp_id: UUID, asked: views.EndpointChangeAsked) -> views.EndpointView:
        """Changes the name or the status."""
        return views.EndpointView.model_validate(
            records.change_endpoint(caller, str(mcp_id), name=asked.name, status=asked.status)
        )

    @routes.post("/mcps/{mcp_id}/rotate")
    def rotate_endpoint_key(
        caller: user, mcp_id: UUID, asked: views.RotationAsked | None = None
    ) -> views.EndpointKeyView:
        """Returns a new key, shown only once. The old key stays valid for `overlap_seconds`."""
        overlap = (asked or views.RotationAsked()).overlap_seconds
        return _with_key(records.rotate(caller, str(mcp_id), overlap_seconds=overlap))

    @routes.delete("/mcps/{mcp_id}", status_code=204)
    def delete_endpoint(caller: user, mcp_id: UUID) -> None:
        records.delete_endpoint(caller, str(mcp_id))

    @routes.put("/mcps/{mcp_id}/tools/{tool_id}", responses=may_fail(409))
    def bind_tool(
        caller: user, mcp_id: UUID, tool_id: UUID, asked: views.BindingAsked | None = None
    ) -> views.EndpointView:
        """Binds a Tool, or changes the status of its binding."""
        status = (asked or views.BindingAsked()).status
        return views.EndpointView.model_validate(records.bind(caller, str(mcp_id), str(tool_id), status=status))

    @routes.delete("/mcps/{mcp_id}/tools/{tool_id}")
    def unbind_tool(caller: user, mcp_id: UUID, tool_id: UUID) -> views.EndpointView:
        return views.EndpointView.model_validate(records.unbind(caller, str(mcp_id), str(tool_id)))

    return routes


def _with_key(made: tuple[Any, str]) -> views.EndpointKeyView:
    return views.EndpointKeyView(mcp=views.EndpointView.model_validate(made[0]), key=made[1])
