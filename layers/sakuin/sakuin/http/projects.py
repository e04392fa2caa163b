"""The REST API of projects: Tables, Search Tools and MCP endpoints."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from sakuin.errors import Forbidden, SakuinError, Unauthorized
from sakuin.http.endpoints import endpoint_routes, tool_routes
from sakuin.http.errors import Asked, check_query, may_fail, member_routes
from sakuin.http.tables import table_routes
from sakuin.language.synonyms import check_groups
from sakuin.platform.keys import KEY_PREFIX, LibraryKey, RecordUse, key_of, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.tables.admin.postgres import ProjectRecords, count_request
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import Member, Project, Role, User

logger = logging.getLogger(__name__)

# Gives the UUID of a token's user, or raises `Unauthorized`.
UserOf = Callable[[str], str]


class ProjectsView(BaseModel):
    """The caller's projects."""

    projects: Sequence[Project]


class ProjectAsked(Asked):
    """A new project."""

    name: str


class MembersView(BaseModel):
    """A project's members, the oldest first."""

    members: Sequence[Member]


class MemberAsked(Asked):
    """A new member, or another role of a member, by the id of a user of Supabase Auth."""

    user_id: UUID
    role: Role | None = Field(default=None, description="Left out: a new member is a viewer, others keep their role.")


class TransferAsked(Asked):
    """The next owner, who is a member already."""

    user_id: UUID


class SynonymsView(BaseModel):
    """A project's synonyms for the questions to its Search Tools."""

    groups: Sequence[Sequence[str]] = Field(description="Each group has phrases that mean the same.")


class SynonymsAsked(Asked):
    """The next synonyms of a project; an empty list deletes them."""

    groups: list[list[str]] = Field(description="Each group has two or more phrases that mean the same.")


@dataclass(frozen=True, slots=True)
class ProjectServices:
    """The use cases of the API and of the console."""

    records: ProjectRecords
    tables: TableAdmin
    publish: Callable[[], int]
    user_of: UserOf

    def publish_changes(self) -> None:
        """Publishes the events of a change. If that fails, `maintain` publishes them later."""
        try:
            self.publish()
        except SakuinError:
            logger.exception("the outbox is not published")


def project_routers(
    services: ProjectServices,
    keys: KeyRing,
    read_key: Callable[[Mapping[str, str]], LibraryKey | None] = lambda _headers: None,
    record_use: RecordUse = lambda _key_hash: None,
) -> tuple[APIRouter, ...]:
    """Returns the routes. A caller is an admin or a member: 404 for other projects, 403 for what the role forbids.

    `read_key` returns the valid key that reads a project, as a member who changes nothing; `record_use` records its
    use.
    """

    def caller(request: Request) -> User | None:
        if (key := read_key(request.headers)) is not None:
            if request.method != "GET":
                raise Forbidden("This key reads a project and changes nothing")
            record_use(key.key_hash)
        user = User(key.member_id or "") if key else caller_of(request.headers, keys, services.user_of)
        if user is not None:
            count_request(services.records.client, user.id)
        check_query(request)
        return user

    def publishing() -> Iterator[None]:
        yield
        services.publish_changes()

    user = Annotated[User | None, Depends(caller)]
    changing = [Depends(caller), Depends(publishing)]
    return (
        _project_routes(services.records, user, changing),
        table_routes(services.records, services.tables, user, changing),
        tool_routes(services.records, services.tables, user, changing),
        endpoint_routes(services.records, user),
    )


def caller_of(headers: Mapping[str, str], keys: KeyRing, user_of: UserOf) -> User | None:
    """Returns the user, None for an admin; `Unauthorized` for anyone else. Header names are lower case."""
    if matching_hash(headers, keys) is not None:
        return None
    token = key_of(headers)
    if token is None or token.startswith(KEY_PREFIX):
        raise Unauthorized("Send the header Authorization: Bearer <admin key, or access token of Supabase Auth>")
    return User(user_of(token))


def _project_routes(records: ProjectRecords, user: Any, changing: Any) -> APIRouter:
    routes = member_routes("Projects")

    @routes.post("/projects", status_code=201)
    def create_project(caller: user, asked: ProjectAsked) -> Project:
        """Creates a project. A user becomes its owner."""
        return records.create_project(caller, asked.name)

    @routes.get("/projects")
    def list_projects(caller: user) -> ProjectsView:
        return ProjectsView(projects=records.projects(caller))

    @routes.delete("/projects/{project_id}", status_code=204, dependencies=changing)
    def delete_project(caller: user, project_id: UUID) -> None:
        """Deletes a project with its Tables, Tools and endpoints. Needs the role `owner`."""
        records.delete_project(caller, str(project_id))

    @routes.post("/projects/{project_id}/members", status_code=204, responses=may_fail(409))
    def add_member(caller: user, project_id: UUID, asked: MemberAsked) -> None:
        """Makes a user a member, or gives a member another role. Needs the role `owner`."""
        records.add_member(caller, str(project_id), str(asked.user_id), asked.role)

    @routes.post("/projects/{project_id}/transfer", status_code=204)
    def transfer_project(caller: user, project_id: UUID, asked: TransferAsked) -> None:
        """Makes a member the owner; the caller becomes an editor. With an admin key all other owners do."""
        records.transfer_project(caller, str(project_id), str(asked.user_id))

    @routes.get("/projects/{project_id}/members")
    def list_members(caller: user, project_id: UUID) -> MembersView:
        return MembersView(members=records.members(caller, str(project_id)))

    @routes.delete("/projects/{project_id}/members/{user_id}", status_code=204, responses=may_fail(409))
    def remove_member(caller: user, project_id: UUID, user_id: UUID) -> None:
        """Removes a member, or the caller; only an owner removes others, and no other owner. 409 for the last owner."""
        records.remove_member(caller, str(project_id), str(user_id))

    @routes.get("/projects/{project_id}/synonyms")
    def get_synonyms(caller: user, project_id: UUID) -> SynonymsView:
        return SynonymsView(groups=records.synonyms(caller, str(project_id)))

    @routes.put("/projects/{project_id}/synonyms")
    def replace_synonyms(caller: user, project_id: UUID, asked: SynonymsAsked) -> SynonymsView:
        """Replaces the synonyms for the questions to all Search Tools of a project, from the next question on."""
        groups = check_groups(asked.groups)
        records.replace_synonyms(caller, str(project_id), groups)
        return SynonymsView(groups=groups)

    return routes
