"""The pages of a project's Search Tools."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import IndexProgress, corrected_in, project_of, project_page, with_id
from sakuin.console.pages.projects import show_project
from sakuin.console.shell import Form, Reader, Visit

router = APIRouter(prefix="/projects")


@router.get("/{project_id}/tools/{tool_id}")
def show_tool(visit: Reader, project_id: UUID, tool_id: UUID) -> Response:
    project = project_of(visit, project_id)
    tool = with_id(visit.records.tools(visit.user, project.id), tool_id, "tool")
    return project_page(
        visit,
        "tool.html",
        project,
        tool=tool,
        index=IndexProgress.of(tool),
        table_names={table.id: table.name for table in visit.records.tables(visit.user, project.id)},
        endpoints=[
            one for one in visit.records.endpoints(visit.user, project.id) if tool.id in {b.tool_id for b in one.tools}
        ],
    )


def shown_again(visit: Visit, project_id: UUID, tool_id: UUID, done: str) -> Response:
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}/tools/{tool_id}", done=done)


@router.post("/{project_id}/tools")
@corrected_in(show_project)
def create_tool(visit: Form, project_id: UUID) -> Response:
    tool = visit.projects.tables.create_tool(
        visit.user,
        str(project_id),
        visit.text("table"),
        json_path=visit.text("json_path"),
        name=visit.text("name"),
        description=visit.text("description"),
    )
    return shown_again(visit, project_id, UUID(tool.id), "tool_created")


@router.post("/{project_id}/tools/{tool_id}/change")
@corrected_in(show_tool)
def change_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    name, description = visit.text("name"), visit.text("description")
    visit.records.change_tool(visit.user, str(tool_id), name=name, description=description)
    return shown_again(visit, project_id, tool_id, "saved")


@router.post("/{project_id}/tools/{tool_id}/reindex")
def reindex_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.reindex_tool(visit.user, str(tool_id))
    return shown_again(visit, project_id, tool_id, "tool_reindexed")


@router.post("/{project_id}/tools/{tool_id}/delete")
def delete_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.delete_tool(visit.user, str(tool_id))
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}", done="tool_deleted")


@router.post("/{project_id}/tools/{tool_id}/{action}")
def enable_or_disable(visit: Form, project_id: UUID, tool_id: UUID, action: Literal["enable", "disable"]) -> Response:
    visit.records.change_tool(visit.user, str(tool_id), enabled=action == "enable")
    return shown_again(visit, project_id, tool_id, f"{action}d")
