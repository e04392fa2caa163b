"""The pages of a project's MCP endpoints."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.agents import HIDDEN_KEY, TOOLS_VARIABLE, AgentEndpoint, configurations
from sakuin.console.answers import redirect
from sakuin.console.forms import Form
from sakuin.console.pages.projects.shell import CORRECTABLE, ProjectPages
from sakuin.console.pages.projects.tools import IndexProgress
from sakuin.console.sessions import Session
from sakuin.errors import Invalid, NotFound, SakuinError
from sakuin.tables.model import McpEndpoint

# How long the old key stays valid, in seconds; each has a text.
OVERLAPS = (0, 3600, 86_400, 604_800)
_TOOL = "tool-"


def add_endpoint_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    services = pages.services
    reader = Annotated[Session, Depends(pages.shell.signed_in)]
    sent = Annotated[Form, Depends(pages.shell.form)]
    sent_once = Annotated[Form, Depends(pages.shell.form_once)]

    def show_new(
        request: Request,
        session: Session,
        project_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id, role="editor")
        tools = services.records.tools(session.user, project.id)
        return pages.page(request, "endpoint_new.html", session, project, problem=problem, form=form, tools=tools)

    def show_endpoint(
        request: Request,
        session: Session,
        project_id: UUID,
        mcp_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id)
        endpoint = _endpoint(services.records.endpoints(session.user, project.id), mcp_id)
        tools = {tool.id: tool for tool in services.records.tools(session.user, project.id)}
        bound = {binding.tool_id for binding in endpoint.tools}
        return pages.page(
            request,
            "endpoint.html",
            session,
            project,
            problem=problem,
            form=form,
            endpoint=endpoint,
            bindings=[(one, IndexProgress.of(tools[one.tool_id])) for one in endpoint.tools if one.tool_id in tools],
            unbound=[tool for tool in tools.values() if tool.id not in bound],
            overlaps=OVERLAPS,
            to=(to := _connection(request, endpoint)),
            agents=configurations(to, HIDDEN_KEY),
        )

    def show_key(request: Request, session: Session, project_id: UUID, made: McpEndpoint, key: str) -> Response:
        """Shows a key, on this answer only: no browser or proxy keeps it (`Cache-Control: no-store`)."""
        project = pages.project(session, project_id)
        to = _connection(request, made)
        agents = configurations(to, key)
        return pages.page(request, "endpoint_key.html", session, project, endpoint=made, key=key, to=to, agents=agents)

    def shown_again(project_id: UUID, mcp_id: UUID, done: str = "saved") -> Response:
        return redirect(f"/projects/{project_id}/endpoints/{mcp_id}", done=done)

    @router.get("/{project_id}/endpoints/new")
    def ask_for_endpoint(request: Request, session: reader, project_id: UUID) -> Response:
        return show_new(request, session, project_id)

    @router.post("/{project_id}/endpoints")
    def create_endpoint(request: Request, form: sent_once, project_id: UUID) -> Response:
        user, tools = form.session.user, [name.removeprefix(_TOOL) for name in form.fields if name.startswith(_TOOL)]
        try:
            made, key = services.records.create_endpoint(user, str(project_id), name=form.text("name"), tools=tools)
        except CORRECTABLE as error:
            return show_new(request, form.session, project_id, error, form)
        return show_key(request, form.session, project_id, made, key)

    @router.get("/{project_id}/endpoints/{mcp_id}")
    def read_endpoint(request: Request, session: reader, project_id: UUID, mcp_id: UUID) -> Response:
        return show_endpoint(request, session, project_id, mcp_id)

    @router.post("/{project_id}/endpoints/{mcp_id}/rotate")
    def rotate_key(request: Request, form: sent_once, project_id: UUID, mcp_id: UUID) -> Response:
        """Shows another key; the old one stays valid for a while."""
        if form.text("overlap") not in map(str, OVERLAPS):
            raise Invalid("Choose how long the old key stays valid")
        seconds = int(form.text("overlap"))
        made, key = services.records.rotate(form.session.user, str(mcp_id), overlap_seconds=seconds)
        return show_key(request, form.session, project_id, made, key)

    @router.post("/{project_id}/endpoints/{mcp_id}/rename")
    def rename_endpoint(request: Request, form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        try:
            services.records.change_endpoint(form.session.user, str(mcp_id), name=form.text("name"))
        except CORRECTABLE as error:
            return show_endpoint(request, form.session, project_id, mcp_id, error, form)
        return shown_again(project_id, mcp_id)

    @router.post("/{project_id}/endpoints/{mcp_id}/bind")
    def bind_tool(request: Request, form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        try:
            services.records.bind(form.session.user, str(mcp_id), form.text("tool"))
        except CORRECTABLE as error:
            return show_endpoint(request, form.session, project_id, mcp_id, error, form)
        return shown_again(project_id, mcp_id, "tool_bound")

    @router.post("/{project_id}/endpoints/{mcp_id}/unbind")
    def unbind_tool(form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        services.records.unbind(form.session.user, str(mcp_id), form.text("tool"))
        return shown_again(project_id, mcp_id, "tool_unbound")

    @router.post("/{project_id}/endpoints/{mcp_id}/enable")
    def enable_endpoint(form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        services.records.change_endpoint(form.session.user, str(mcp_id), status="enabled")
        return shown_again(project_id, mcp_id, "enabled")

    @router.post("/{project_id}/endpoints/{mcp_id}/disable")
    def disable_endpoint(form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        services.records.change_endpoint(form.session.user, str(mcp_id), status="disabled")
        return shown_again(project_id, mcp_id, "disabled")

    @router.post("/{project_id}/endpoints/{mcp_id}/delete")
    def delete_endpoint(form: sent, project_id: UUID, mcp_id: UUID) -> Response:
        services.records.delete_endpoint(form.session.user, str(mcp_id))
        return redirect(f"/projects/{project_id}", done="endpoint_deleted")


def _endpoint(endpoints: Sequence[McpEndpoint], mcp_id: UUID) -> McpEndpoint:
    found = [endpoint for endpoint in endpoints if endpoint.id == str(mcp_id)]
    if not found:
        raise NotFound(f"There is no endpoint {mcp_id}")
    return found[0]


def _connection(request: Request, endpoint: McpEndpoint) -> AgentEndpoint:
    """Returns what an agent needs for an endpoint, on the host that served this page."""
    address = f"{request.url.scheme}://{request.url.netloc}/mcp/{endpoint.id}"
    return AgentEndpoint("sakuin-tools", address, TOOLS_VARIABLE)
