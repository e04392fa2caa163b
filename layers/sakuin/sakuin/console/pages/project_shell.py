"""What the pages of one project share: the project, and what the reader may do there."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, get_args
from uuid import UUID

from fastapi.responses import HTMLResponse, Response

from sakuin.console.shell import Visit
from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit
from sakuin.tables.model import McpEndpoint, Project, Role, Table, Tool
from sakuin.texts.catalogue import coded

Record = TypeVar("Record", Project, Table, Tool, McpEndpoint)
# Takes a visit and the ids in the path.
Answer = Callable[..., Response]


def corrected_in(form: Answer) -> Callable[[Answer], Answer]:
    """Has the handler of a form answer with the page `form`, and what was typed, if somebody can correct an error."""

    def decorated(handle: Answer) -> Answer:
        @wraps(handle)
        def answer(visit: Visit, **path: UUID) -> Response:
            try:
                return handle(visit, **path)
            except (Invalid, Conflict, OverLimit) as error:
                return form(visit.with_problem(error), **path)

        return answer

    return decorated


def project_of(visit: Visit, project_id: UUID, *, role: Role = "viewer") -> Project:
    """Returns a project of the reader, for an admin any; else `NotFound`, and `Forbidden` for a lower role."""
    project = with_id(visit.records.projects(visit.user), project_id, "project")
    if not has_role(visit, project, role):
        raise Forbidden(coded("form.needs_role", role=role))
    return project


def project_page(visit: Visit, template: str, project: Project, **values: Any) -> HTMLResponse:
    """Returns a page of a project.

    Beside the values of every page, templates know `project`, `home` (its path), `can_edit` and `owns`.
    """
    return visit.page(
        f"projects/{template}",
        project=project,
        home=f"/projects/{project.id}",
        can_edit=has_role(visit, project, "editor"),
        owns=has_role(visit, project, "owner"),
        **values,
    )


def with_id(records: Iterable[Record], id: UUID, what: str) -> Record:
    """Returns the record with this id; `NotFound` if there is none."""
    for record in records:
        if record.id == str(id):
            return record
    raise NotFound(coded(f"record.no_{what}", id=id))


def has_role(visit: Visit, project: Project, role: Role) -> bool:
    """Returns whether the reader has at least this role; an admin has every one."""
    roles = get_args(Role)
    return visit.session.is_admin or (project.role is not None and roles.index(project.role) >= roles.index(role))
