"""The page of a project's members."""

from typing import Annotated, cast, get_args
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.pages.projects.shell import ProjectPages, corrected_in
from sakuin.console.shell import Visit
from sakuin.errors import Invalid
from sakuin.tables.model import Role
from sakuin.texts.catalogue import coded


def add_member_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    records = pages.services.records
    reader = Annotated[Visit, Depends(pages.shell.signed_in)]
    sent = Annotated[Visit, Depends(pages.shell.form)]

    @router.get("/{project_id}/members")
    def show(visit: reader, project_id: UUID) -> Response:
        project = pages.project(visit, project_id)
        return pages.page(
            visit,
            "members.html",
            project,
            members=records.members(visit.user, project.id),
            most=pages.services.tables.limits.members,
            roles=get_args(Role),
            me=visit.user.id if visit.user else "",
        )

    @router.post("/{project_id}/members")
    @corrected_in(show)
    def add_member(visit: sent, project_id: UUID) -> Response:
        """Adds a member, or gives a member another role."""
        records.add_member(visit.user, str(project_id), _user_id(visit), _role(visit))
        return redirect(f"/projects/{project_id}/members", done="saved")

    @router.post("/{project_id}/members/remove")
    @corrected_in(show)
    def remove_member(visit: sent, project_id: UUID) -> Response:
        """Removes a member. A person who left the project sees the list of projects."""
        member = _user_id(visit)
        records.remove_member(visit.user, str(project_id), member)
        left = visit.user is not None and visit.user.id == member
        return redirect("/projects" if left else f"/projects/{project_id}/members", done="member_removed")

    @router.post("/{project_id}/members/transfer")
    @corrected_in(show)
    def transfer_project(visit: sent, project_id: UUID) -> Response:
        """Makes a member the owner."""
        records.transfer_project(visit.user, str(project_id), _user_id(visit))
        return redirect(f"/projects/{project_id}/members", done="project_transferred")


def _user_id(visit: Visit) -> str:
    try:
        return str(UUID(visit.text("user_id")))
    except ValueError as error:
        raise Invalid(coded("form.user_id")) from error


def _role(visit: Visit) -> Role:
    role = visit.text("role")
    if role not in get_args(Role):
        raise Invalid(coded("form.role", roles=", ".join(get_args(Role))))
    return cast(Role, role)
