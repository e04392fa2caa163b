"""The list of projects, and the page of one with all that belongs to it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from sakuin.console.answers import page_above, redirect
from sakuin.console.forms import Form
from sakuin.console.pages.projects.endpoints import add_endpoint_routes
from sakuin.console.pages.projects.members import add_member_routes
from sakuin.console.pages.projects.shell import CORRECTABLE, ProjectPages
from sakuin.console.pages.projects.synonyms import add_synonym_routes
from sakuin.console.pages.projects.tables import add_table_routes
from sakuin.console.pages.projects.tools import IndexProgress, add_tool_routes
from sakuin.console.sessions import Session
from sakuin.console.shell import Shell
from sakuin.errors import Invalid, SakuinError
from sakuin.http.projects import ProjectServices
from sakuin.platform.http_errors import http_error


def routes(shell: Shell, services: ProjectServices) -> APIRouter:
    """Returns the routes below `/projects`."""
    pages = ProjectPages(shell, services)
    router = APIRouter(prefix="/projects")
    for add in (
        _add_project_routes,
        add_table_routes,
        add_tool_routes,
        add_endpoint_routes,
        add_member_routes,
        add_synonym_routes,
    ):
        add(router, pages)
    _add_ways_back(router)
    return router


def _add_ways_back(router: APIRouter) -> None:
    """Adds a GET for the address of each form, which leads to the page above it.

    The answer to a form may be a page. Its address is opened when somebody goes there again or switches the language.
    """
    forms = {
        (route.path, method) for route in router.routes if isinstance(route, APIRoute) for method in route.methods or ()
    }
    for path, _post in sorted(each for each in forms if (each[0], "GET") not in forms):
        router.add_api_route(path.removeprefix(router.prefix), _lead_back, methods=["GET"], include_in_schema=False)


def _lead_back(request: Request) -> Response:
    return redirect(page_above(request))


def _add_project_routes(router: APIRouter, pages: ProjectPages) -> None:
    services = pages.services
    reader = Annotated[Session, Depends(pages.shell.signed_in)]
    sent = Annotated[Form, Depends(pages.shell.form)]

    def show_list(
        request: Request, session: Session, problem: SakuinError | None = None, form: Form | None = None
    ) -> Response:
        status = 200 if problem is None else http_error(problem, request.headers).status
        return pages.shell.page(
            request,
            "projects/list.html",
            session,
            status=status,
            projects=services.records.projects(session.user),
            problem=problem and str(problem),
            sent=form.fields if form else {},
        )

    @router.get("")
    def list_projects(request: Request, session: reader) -> Response:
        return show_list(request, session)

    @router.post("")
    def create_project(request: Request, form: sent) -> Response:
        try:
            made = services.records.create_project(form.session.user, form.text("name"))
        except CORRECTABLE as error:
            return show_list(request, form.session, error, form)
        return redirect(f"/projects/{made.id}", done="project_created")

    def show_project(
        request: Request,
        session: Session,
        project_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id)
        records, user, limits = services.records, session.user, services.tables.limits
        tables, tools = records.tables(user, project.id), records.tools(user, project.id)
        endpoints = records.endpoints(user, project.id)
        quotas = [
            ("tables", len(tables), limits.tables),
            ("tools", len(tools), limits.tools),
            ("endpoints", len(endpoints), limits.endpoints),
            ("bytes", sum(table.bytes for table in tables), limits.project_bytes),
            ("chunks", sum(table.chunks_count for table in tables), limits.project_chunks),
        ]
        return pages.page(
            request,
            "project.html",
            session,
            project,
            problem=problem,
            form=form,
            tables=tables,
            tools=[(tool, IndexProgress.of(tool)) for tool in tools],
            table_names={table.id: table.name for table in tables},
            endpoints=endpoints,
            quotas=quotas,
        )

    @router.get("/{project_id}")
    def read_project(request: Request, session: reader, project_id: UUID) -> Response:
        return show_project(request, session, project_id)

    @router.post("/{project_id}/delete")
    def delete_project(request: Request, form: sent, project_id: UUID) -> Response:
        """Deletes a project whose name was typed."""
        project = pages.project(form.session, project_id)
        if form.text("typed_name") != project.name.strip():
            wrong = Invalid("This is not the name of the project. Nothing was deleted")
            return show_project(request, form.session, project_id, wrong, form)
        services.records.delete_project(form.session.user, project.id)
        services.publish_changes()
        return redirect("/projects", done="project_deleted")
