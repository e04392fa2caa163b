"""The pages of a project's Search Tools, and of its MCP endpoints."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import IndexProgress, corrected_in, project_of, project_page, with_id
from sakuin.console.pages.projects import show_project
from sakuin.console.shell import Form, FormOnce, Reader, Visit
from sakuin.errors import Invalid
from sakuin.mcp.agents import HIDDEN_KEY, TOOLS_VARIABLE, AgentEndpoint, configurations
from sakuin.tables.model import McpEndpoint
from sakuin.texts.catalogue import coded

# How long the old key stays valid, in seconds; each has a text.
OVERLAPS = (0, 3600, 86_400, 604_800)
_TOOL = "tool-"


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


def tool_again(visit: Visit, project_id: UUID, tool_id: UUID, done: str) -> Response:
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
    return tool_again(visit, project_id, UUID(tool.id), "tool_created")


@router.post("/{project_id}/tools/{tool_id}/change")
@corrected_in(show_tool)
def change_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    name, description = visit.text("name"), visit.text("description")
    visit.records.change_tool(visit.user, str(tool_id), name=name, description=description)
    return tool_again(visit, project_id, tool_id, "saved")


@router.post("/{project_id}/tools/{tool_id}/reindex")
def reindex_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.reindex_tool(visit.user, str(tool_id))
    return tool_again(visit, project_id, tool_id, "tool_reindexed")


@router.post("/{project_id}/tools/{tool_id}/delete")
def delete_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.delete_tool(visit.user, str(tool_id))
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}", done="tool_deleted")


@router.post("/{project_id}/tools/{tool_id}/{action}")
def enable_or_disable_tool(
    visit: Form, project_id: UUID, tool_id: UUID, action: Literal["enable", "disable"]
) -> Response:
    visit.records.change_tool(visit.user, str(tool_id), enabled=action == "enable")
    return tool_again(visit, project_id, tool_id, f"{action}d")


@router.get("/{project_id}/endpoints/{mcp_id}")
def show_endpoint(visit: Reader, project_id: UUID, mcp_id: UUID) -> Response:
    project = project_of(visit, project_id)
    endpoint = with_id(visit.records.endpoints(visit.user, project.id), mcp_id, "endpoint")
    tools = {tool.id: tool for tool in visit.records.tools(visit.user, project.id)}
    bound = {binding.tool_id for binding in endpoint.tools}
    return project_page(
        visit,
        "endpoint.html",
        project,
        endpoint=endpoint,
        bindings=[(one, IndexProgress.of(tools[one.tool_id])) for one in endpoint.tools if one.tool_id in tools],
        unbound=[tool for tool in tools.values() if tool.id not in bound],
        overlaps=OVERLAPS,
        to=(to := _connection(visit, endpoint)),
        agents=configurations(to, HIDDEN_KEY),
    )


def show_key(visit: Visit, project_id: UUID, made: McpEndpoint, key: str) -> Response:
    """Shows a key, on this answer only: no browser or proxy keeps it (`Cache-Control: no-store`)."""
    project = project_of(visit, project_id)
    to = _connection(visit, made)
    agents = configurations(to, key)
    return project_page(visit, "endpoint_key.html", project, endpoint=made, key=key, to=to, agents=agents)


def shown_again(project_id: UUID, mcp_id: UUID, done: str = "saved") -> Response:
    return redirect(f"/projects/{project_id}/endpoints/{mcp_id}", done=done)


@router.post("/{project_id}/endpoints")
@corrected_in(show_project)
def create_endpoint(visit: FormOnce, project_id: UUID) -> Response:
    user, tools = visit.user, [name.removeprefix(_TOOL) for name in visit.fields if name.startswith(_TOOL)]
    name, fixed = visit.text("name"), visit.filter()
    made, key = visit.records.create_endpoint(user, str(project_id), name=name, tools=tools, fixed=fixed)
    return show_key(visit, project_id, made, key)


@router.post("/{project_id}/endpoints/{mcp_id}/rotate")
def rotate_key(visit: FormOnce, project_id: UUID, mcp_id: UUID) -> Response:
    """Shows another key; the old one stays valid for a while."""
    if visit.text("overlap") not in map(str, OVERLAPS):
        raise Invalid(coded("form.overlap"))
    seconds = int(visit.text("overlap"))
    made, key = visit.records.rotate(visit.user, str(mcp_id), overlap_seconds=seconds)
    return show_key(visit, project_id, made, key)


@router.post("/{project_id}/endpoints/{mcp_id}/rename")
@corrected_in(show_endpoint)
def rename_endpoint(visit: Form, project_id: UUID, mcp_id: UUID) -> Response:
    visit.records.change_endpoint(visit.user, str(mcp_id), name=visit.text("name"))
    return shown_again(project_id, mcp_id)


@router.post("/{project_id}/endpoints/{mcp_id}/bind")
@corrected_in(show_endpoint)
def bind_tool(visit: Form, project_id: UUID, mcp_id: UUID) -> Response:
    fixed = visit.filter() if "filter" in visit.fields else None
    visit.records.bind(visit.user, str(mcp_id), visit.text("tool"), fixed=fixed)
    return shown_again(project_id, mcp_id, "tool_bound")


@router.post("/{project_id}/endpoints/{mcp_id}/unbind")
def unbind_tool(visit: Form, project_id: UUID, mcp_id: UUID) -> Response:
    visit.records.unbind(visit.user, str(mcp_id), visit.text("tool"))
    return shown_again(project_id, mcp_id, "tool_unbound")


@router.post("/{project_id}/endpoints/{mcp_id}/delete")
def delete_endpoint(visit: Form, project_id: UUID, mcp_id: UUID) -> Response:
    visit.records.delete_endpoint(visit.user, str(mcp_id))
    return redirect(f"/projects/{project_id}", done="endpoint_deleted")


@router.post("/{project_id}/endpoints/{mcp_id}/{action}")
def enable_or_disable(visit: Form, project_id: UUID, mcp_id: UUID, action: Literal["enable", "disable"]) -> Response:
    visit.records.change_endpoint(visit.user, str(mcp_id), status="enabled" if action == "enable" else "disabled")
    return shown_again(project_id, mcp_id, f"{action}d")


def _connection(visit: Visit, endpoint: McpEndpoint) -> AgentEndpoint:
    """Returns what an agent needs for an endpoint."""
    return AgentEndpoint("sakuin-tools", f"{visit.origin}/mcp/{endpoint.id}", TOOLS_VARIABLE)
