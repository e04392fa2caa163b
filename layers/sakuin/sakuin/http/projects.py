"""The routes of projects: their members, and their synonyms."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import BaseModel, Field

from sakuin.errors import Invalid
from sakuin.http.access import PUBLISHING, Caller, Records, member_routes
from sakuin.http.errors import StrictRequest, may_fail
from sakuin.language.synonyms import check_groups
from sakuin.tables.model import Member, Project, Role
from sakuin.texts.catalogue import coded


class ProjectsView(BaseModel):
    """The caller's projects."""

    projects: Sequence[Project]


class NewProject(StrictRequest):
    """A new project."""

    name: str


class MembersView(BaseModel):
    """A project's members, the oldest first."""

    members: Sequence[Member]


class MemberChange(StrictRequest):
    """A new member, or another role of a member: by the id of a user of Supabase Auth, or by an address to invite."""

    user_id: UUID | None = None
    email: str | None = Field(default=None, description="Its person is a member after the next sign-in.")
    role: Role | None = Field(default=None, description="Left out: a new member is a viewer, others keep their role.")


class SynonymsView(BaseModel):
    """A project's synonyms for the questions to its Search Tools."""

    groups: Sequence[Sequence[str]] = Field(description="Each group has phrases that mean the same.")


class NextSynonyms(StrictRequest):
    """The next synonyms of a project; an empty list deletes them."""

    groups: list[list[str]] = Field(description="Each group has two or more phrases that mean the same.")


router = member_routes("Projects")


@router.post("/projects", status_code=201)
def create_project(caller: Caller, records: Records, request: NewProject) -> Project:
    """Creates a project. A user becomes its owner."""
    return records.create_project(caller, request.name)


@router.get("/projects")
def list_projects(caller: Caller, records: Records) -> ProjectsView:
    return ProjectsView(projects=records.projects(caller))


@router.delete("/projects/{project_id}", status_code=204, dependencies=PUBLISHING)
def delete_project(caller: Caller, records: Records, project_id: UUID) -> None:
    """Deletes a project with its Tables, Tools and endpoints. Needs the role `owner`."""
    records.delete_project(caller, str(project_id))


@router.post("/projects/{project_id}/members", status_code=204, responses=may_fail(409))
def add_member(caller: Caller, records: Records, project_id: UUID, request: MemberChange) -> None:
    """Makes a user a member, gives a member another role, or invites an address. Needs the role `owner`."""
    if (request.user_id is None) == (request.email is None):
        raise Invalid(coded("record.whom"))
    if request.email is not None:
        records.invite_member(caller, str(project_id), request.email, request.role)
    else:
        records.add_member(caller, str(project_id), str(request.user_id), request.role)


@router.get("/projects/{project_id}/members")
def list_members(caller: Caller, records: Records, project_id: UUID) -> MembersView:
    return MembersView(members=records.members(caller, str(project_id)))


@router.delete("/projects/{project_id}/members/{user_id}", status_code=204, responses=may_fail(409))
def remove_member(caller: Caller, records: Records, project_id: UUID, user_id: UUID) -> None:
    """Removes a member, or the caller; only an owner removes others, and no other owner. 409 for the last owner."""
    records.remove_member(caller, str(project_id), str(user_id))


@router.get("/projects/{project_id}/synonyms")
def get_synonyms(caller: Caller, records: Records, project_id: UUID) -> SynonymsView:
    return SynonymsView(groups=records.synonyms(caller, str(project_id)))


@router.put("/projects/{project_id}/synonyms")
def replace_synonyms(caller: Caller, records: Records, project_id: UUID, request: NextSynonyms) -> SynonymsView:
    """Replaces the synonyms for the questions to all Search Tools of a project, from the next question on."""
    groups = check_groups(request.groups)
    records.replace_synonyms(caller, str(project_id), groups)
    return SynonymsView(groups=groups)
