"""The list of projects, the page of one with all that belongs to it, its members, and its synonyms as lines."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import cast, get_args
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import IndexProgress, corrected_in, project_of, project_page
from sakuin.console.shell import Form, Reader, Visit
from sakuin.errors import Invalid
from sakuin.language.synonyms import check_groups
from sakuin.tables.model import Role
from sakuin.texts.catalogue import coded

# A request with a larger document may exceed what Lambda takes. The command uploads it to the bucket.
LARGEST_DOCUMENT = 4_000_000

router = APIRouter(prefix="/projects")


@router.get("")
def show_list(visit: Reader) -> Response:
    return visit.page("projects/list.html", projects=visit.records.projects(visit.user))


@router.post("")
@corrected_in(show_list)
def create_project(visit: Form) -> Response:
    project = visit.records.create_project(visit.user, visit.text("name"))
    return redirect(f"/projects/{project.id}", done="project_created")


@router.get("/{project_id}")
def show_project(visit: Reader, project_id: UUID) -> Response:
    project = project_of(visit, project_id)
    records, user, limits = visit.records, visit.user, visit.projects.tables.limits
    tables, tools = records.tables(user, project.id), records.tools(user, project.id)
    endpoints = records.endpoints(user, project.id)
    quotas = [
        ("tables", len(tables), limits.tables),
        ("tools", len(tools), limits.tools),
        ("endpoints", len(endpoints), limits.endpoints),
        ("bytes", sum(table.bytes for table in tables), limits.project_bytes),
        ("chunks", sum(table.chunks_count for table in tables), limits.project_chunks),
    ]
    return project_page(
        visit,
        "project.html",
        project,
        tables=tables,
        tools=[(tool, IndexProgress.of(tool)) for tool in tools],
        table_names={table.id: table.name for table in tables},
        endpoints=endpoints,
        quotas=quotas,
        largest=LARGEST_DOCUMENT,
    )


@router.post("/{project_id}/delete")
@corrected_in(show_project)
def delete_project(visit: Form, project_id: UUID) -> Response:
    """Deletes a project whose name was typed."""
    project = project_of(visit, project_id)
    if visit.text("typed_name") != project.name.strip():
        raise Invalid(coded("form.other_name"))
    visit.records.delete_project(visit.user, project.id)
    visit.projects.publish_changes()
    return redirect("/projects", done="project_deleted")


@router.get("/{project_id}/members")
def show_members(visit: Reader, project_id: UUID) -> Response:
    project = project_of(visit, project_id)
    return project_page(
        visit,
        "members.html",
        project,
        members=visit.records.members(visit.user, project.id),
        most=visit.projects.tables.limits.members,
        roles=get_args(Role),
        me=visit.user.id if visit.user else "",
    )


@router.post("/{project_id}/members")
@corrected_in(show_members)
def add_member(visit: Form, project_id: UUID) -> Response:
    """Adds or invites a member, or gives a member another role."""
    if "@" in (address := visit.text("user_id")):
        visit.records.invite_member(visit.user, str(project_id), address, _role(visit))
        return redirect(f"/projects/{project_id}/members", done="invited")
    visit.records.add_member(visit.user, str(project_id), _user_id(visit), _role(visit))
    return redirect(f"/projects/{project_id}/members", done="saved")


@router.post("/{project_id}/members/remove")
@corrected_in(show_members)
def remove_member(visit: Form, project_id: UUID) -> Response:
    """Removes a member. A person who left the project sees the list of projects."""
    member = _user_id(visit)
    visit.records.remove_member(visit.user, str(project_id), member)
    left = visit.user is not None and visit.user.id == member
    return redirect("/projects" if left else f"/projects/{project_id}/members", done="member_removed")


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


@router.get("/{project_id}/synonyms")
def show_synonyms(visit: Reader, project_id: UUID) -> Response:
    project = project_of(visit, project_id)
    groups = (
        visit.fields.get("groups", "") if visit.problem else lines_of(visit.records.synonyms(visit.user, project.id))
    )
    return project_page(visit, "synonyms.html", project, groups=groups)


@router.post("/{project_id}/synonyms")
@corrected_in(show_synonyms)
def replace_synonyms(visit: Form, project_id: UUID) -> Response:
    groups = check_groups(groups_of(visit.fields.get("groups", "")))
    visit.records.replace_synonyms(visit.user, str(project_id), groups)
    return redirect(f"/projects/{project_id}/synonyms", done="saved")


def lines_of(groups: Iterable[Sequence[str]]) -> str:
    """Returns one line for each group. A phrase with a comma or a quote stands in quotes."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(groups)
    return lines.getvalue()


def groups_of(lines: str) -> list[list[str]]:
    """Returns the groups of lines; empty lines and empty phrases do not count. Raises `Invalid`."""
    try:
        rows = list(csv.reader(io.StringIO(lines, newline=""), skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise Invalid(coded("form.synonyms", error=str(error))) from error
    return [group for row in rows if (group := [phrase for phrase in row if phrase.strip()])]
