"""What the pages of one project share: the project, and what the reader may do there."""

from dataclasses import dataclass
from typing import Any, get_args
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse

from sakuin.console.forms import Form
from sakuin.console.sessions import Session
from sakuin.console.shell import Shell
from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit, SakuinError
from sakuin.http.projects import ProjectServices
from sakuin.platform.http_errors import http_error
from sakuin.tables.model import Project, Role

# What somebody can correct in a form: it is shown again, with what was typed.
CORRECTABLE = (Invalid, Conflict, OverLimit)


@dataclass(frozen=True, slots=True)
class ProjectPages:
    """Renders the pages of projects over their services."""

    shell: Shell
    services: ProjectServices

    def project(self, session: Session, project_id: UUID, *, role: Role = "viewer") -> Project:
        """Returns a project of the reader, for an admin any; else `NotFound`, and `Forbidden` for a lower role."""
        found = [one for one in self.services.records.projects(session.user) if one.id == str(project_id)]
        if not found:
            raise NotFound(f"There is no project {project_id}")
        if not has_role(session, found[0], role):
            raise Forbidden(f"This needs the role {role} in the project. An owner can give it to you")
        return found[0]

    def page(
        self,
        request: Request,
        template: str,
        session: Session,
        project: Project,
        *,
        problem: SakuinError | None = None,
        form: Form | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """Returns a page of a project, with a problem above the form that has it.

        Beside the values of every page, templates know `project`, `home` (its path), `can_edit`, `owns`, `problem` and
        `sent`, the fields of the form.
        """
        return self.shell.page(
            request,
            f"projects/{template}",
            session,
            status=200 if problem is None else http_error(problem, request.headers).status,
            project=project,
            home=f"/projects/{project.id}",
            can_edit=has_role(session, project, "editor"),
            owns=has_role(session, project, "owner"),
            problem=problem and str(problem),
            sent=form.fields if form else {},
            **values,
        )


def has_role(session: Session, project: Project, role: Role) -> bool:
    """Returns whether the reader has at least this role; an admin has every one."""
    roles = get_args(Role)
    return session.is_admin or (project.role is not None and roles.index(project.role) >= roles.index(role))
