"""The page of a project's members."""

from typing import Annotated, cast, get_args
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.forms import Form
from sakuin.console.pages.projects.shell import CORRECTABLE, ProjectPages
from sakuin.console.sessions import Session
from sakuin.errors import Invalid, SakuinError
from sakuin.tables.model import Role


def add_member_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    records = pages.services.records
    reader = Annotated[Session, Depends(pages.shell.signed_in)]
    sent = Annotated[Form, Depends(pages.shell.form)]

    def show(
        request: Request,
        session: Session,
        project_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id)
        return pages.page(
            request,
            "members.html",
            session,
            project,
            problem=problem,
            form=form,
            members=records.members(session.user, project.id),
            most=pages.services.tables.limits.members,
            roles=get_args(Role),
            me=session.user.id if session.user else "",
        )

    @router.get("/{project_id}/members")
    def list_members(request: Request, session: reader, project_id: UUID) -> Response:
        return show(request, session, project_id)

    @router.post("/{project_id}/members")
    def add_member(request: Request, form: sent, project_id: UUID) -> Response:
        """Adds a member, or gives a member another role."""
        try:
            records.add_member(form.session.user, str(project_id), _user_id(form), _role(form))
        except CORRECTABLE as error:
            return show(request, form.session, project_id, error, form)
        return redirect(f"/projects/{project_id}/members", done="saved")

    @router.post("/{project_id}/members/remove")
    def remove_member(request: Request, form: sent, project_id: UUID) -> Response:
        """Removes a member. A person who left the project sees the list of projects."""
        try:
            member = _user_id(form)
            records.remove_member(form.session.user, str(project_id), member)
        except CORRECTABLE as error:
            return show(request, form.session, project_id, error, form)
        left = form.session.user is not None and form.session.user.id == member
        return redirect("/projects" if left else f"/projects/{project_id}/members", done="member_removed")

    @router.post("/{project_id}/members/transfer")
    def transfer_project(request: Request, form: sent, project_id: UUID) -> Response:
        """Makes a member the owner."""
        try:
            records.transfer_project(form.session.user, str(project_id), _user_id(form))
        except CORRECTABLE as error:
            return show(request, form.session, project_id, error, form)
        return redirect(f"/projects/{project_id}/members", done="project_transferred")


def _user_id(form: Form) -> str:
    try:
        return str(UUID(form.text("user_id")))
    except ValueError as error:
        raise Invalid("The id of a user is a UUID; Supabase's list of users shows it") from error


def _role(form: Form) -> Role:
    role = form.text("role")
    if role not in get_args(Role):
        raise Invalid(f"A role is one of {', '.join(get_args(Role))}")
    return cast(Role, role)
