"""The routes of Search Tools."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from sakuin.http import views
from sakuin.http.errors import may_fail, member_routes
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin


def tool_routes(records: ProjectRecords, tables: TableAdmin, user: Any, changing: Any) -> APIRouter:
    """Returns the routes. `user` is the dependency that gives the caller; `changing` are those of a change."""
    routes = member_routes("Tools")

    @routes.post("/projects/{project_id}/tools", status_code=201, dependencies=changing)
    def create_tool(caller: user, project_id: UUID, asked: views.ToolAsked) -> views.ToolView:
        """Creates a Search Tool. `metadata.search_index.state` shows when it can be searched."""
        part = asked.model_dump(include={"json_path", "name", "description"})
        return views.ToolView.model_validate(tables.create_tool(caller, str(project_id), str(asked.table_id), **part))

    @routes.get("/projects/{project_id}/tools")
    def list_tools(caller: user, project_id: UUID) -> views.ToolsView:
        return views.ToolsView(
            tools=[views.ToolView.model_validate(one) for one in records.tools(caller, str(project_id))]
        )

    @routes.get("/tools/{tool_id}")
    def get_tool(caller: user, tool_id: UUID) -> views.ToolView:
        return views.ToolView.model_validate(records.tool(caller, str(tool_id)))

    @routes.patch("/tools/{tool_id}", dependencies=changing, responses=may_fail(409))
    def change_tool(caller: user, tool_id: UUID, asked: views.ToolChangeAsked) -> views.ToolView:
        """Changes the name, the description or `enabled`."""
        return views.ToolView.model_validate(records.change_tool(caller, str(tool_id), **asked.model_dump()))

    @routes.post("/tools/{tool_id}/reindex", status_code=202, dependencies=changing)
    def reindex_tool(caller: user, tool_id: UUID) -> views.ToolView:
        return views.ToolView.model_validate(records.reindex_tool(caller, str(tool_id)))

    @routes.delete("/tools/{tool_id}", status_code=204, dependencies=changing)
    def delete_tool(caller: user, tool_id: UUID) -> None:
        records.delete_tool(caller, str(tool_id))

    return routes
