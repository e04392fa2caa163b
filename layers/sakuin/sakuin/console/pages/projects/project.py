"""The list of projects, and the page of one with all that belongs to it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from sakuin.console.answers import page_above, redirect
from sakuin.console.pages.projects.endpoints import add_endpoint_routes
from sakuin.console.pages.projects.members import add_member_routes
from sakuin.console.pages.projects.shell import ProjectPages, corrected_in
from sakuin.console.pages.projects.synonyms import add_synonym_routes
from sakuin.console.pages.projects.tables import add_table_routes
from sakuin.console.pages.projects.tools import IndexProgress, add_tool_routes
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Invalid
from sakuin.http.projects import ProjectServices
from sakuin.texts.catalogue import coded


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
    reader = Annotated[Visit, Depends(pages.shell.signed_in)]
    sent = Annotated[Visit, Depends(pages.shell.form)]

    @router.get("")
    def show_list(visit: reader) -> Response:
        return visit.page("projects/list.html", projects=services.records.projects(visit.user))

    @router.post("")
    @corrected_in(show_list)
    def create_project(visit: sent) -> Response:
        project = services.records.create_project(visit.user, visit.text("name"))
        return redirect(f"/projects/{project.id}", done="project_created")

    @router.get("/{project_id}")
    def show_project(visit: reader, project_id: UUID) -> Response:
        project = pages.project(visit, project_id)
        records, user, limits = services.records, visit.user, services.tables.limits
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
            visit,
            "project.html",
            project,
            tables=tables,
            tools=[(tool, IndexProgress.of(tool)) for tool in tools],
            table_names={table.id: table.name for table in tables},
            endpoints=endpoints,
            quotas=quotas,
        )

    @router.post("/{project_id}/delete")
    @corrected_in(show_project)
    def delete_project(visit: sent, project_id: UUID) -> Response:
        """Deletes a project whose name was typed."""
        project = pages.project(visit, project_id)
        if visit.text("typed_name") != project.name.strip():
            raise Invalid(coded("form.other_name"))
        services.records.delete_project(visit.user, project.id)
        services.publish_changes()
        return redirect("/projects", done="project_deleted")
