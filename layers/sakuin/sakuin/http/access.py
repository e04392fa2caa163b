"""What the routes of the REST API use, and who may call them."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from sakuin.errors import Forbidden, SakuinError, Unauthorized
from sakuin.explain.ask_mcp import AskMcp
from sakuin.http.errors import check_query, may_fail
from sakuin.http.gaps import Gaps
from sakuin.knowledge.library import Library
from sakuin.platform.keys import (
    KEY_PREFIX,
    DeploymentKey,
    LibraryKeys,
    RecordUse,
    StoredKeys,
    admin_hash,
    key_of,
    matching_hash,
)
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.schema import Health
from sakuin.platform.supabase.sign_in import SignIn
from sakuin.tables.admin.postgres import ProjectRecords, count_request
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import User
from sakuin.upkeep.doctor import Doctor
from sakuin.upkeep.erase import EraseRecords
from sakuin.upkeep.index_versions import IndexVersionAdmin, LiveVectors
from sakuin.upkeep.queues import Queues
from sakuin.upkeep.reconcile import Reconcile

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProjectServices:
    """The use cases of projects. `user_of` gives the UUID of a token's user, or raises `Unauthorized`."""

    records: ProjectRecords
    tables: TableAdmin
    publish: Callable[[], int]
    user_of: Callable[[str], str]

    def publish_changes(self) -> None:
        """Publishes the events of a change. If that fails, `maintain` publishes them later."""
        try:
            self.publish()
        except SakuinError:
            logger.exception("the outbox is not published")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestServices:
    """The use cases of all routes. `admin_keys` are those of the secret; `library_keys` makes those of `stored_keys`.

    `record_use` records the use of a key, `make_link` returns a code that signs an admin key in to the console.
    """

    version: str
    admin_keys: KeyRing
    stored_keys: StoredKeys
    library_keys: LibraryKeys
    deployment_keys: Callable[[], Sequence[DeploymentKey]]
    record_use: RecordUse
    make_link: Callable[[str], str]
    sign_in: SignIn
    health: Callable[[], Health]
    library: Library
    projects: ProjectServices
    explain: AskMcp
    gaps: Gaps
    queues: Queues
    doctor: Doctor
    erase: EraseRecords
    reconcile: Callable[[], Reconcile]
    index_versions: IndexVersionAdmin
    live_vectors: LiveVectors


async def services_of(request: Request) -> RestServices:
    """Returns the use cases of the application."""
    services: RestServices = request.app.state.services
    return services


Services = Annotated[RestServices, Depends(services_of)]


async def records_of(services: Services) -> ProjectRecords:
    return services.projects.records


async def tables_of(services: Services) -> TableAdmin:
    return services.projects.tables


def admin_key(request: Request, services: Services) -> str:
    """Returns the hash of the caller's admin key."""
    key_hash = admin_hash(request.headers, services.admin_keys)
    services.record_use(key_hash)
    check_query(request)
    return key_hash


def current_user(request: Request, services: Services) -> User | None:
    """Returns the user, None for an admin; `Unauthorized` for anyone else. A key that reads is a viewer."""
    headers, projects = request.headers, services.projects
    user, used = None, matching_hash(headers, services.admin_keys)
    if used is None and (key := services.stored_keys.matching(headers, "read")) is not None:
        if request.method != "GET":
            raise Forbidden("This key reads a project and changes nothing")
        user, used = User(key.member_id or ""), key.key_hash
    if used is not None:
        services.record_use(used)
    else:
        token = key_of(headers)
        if token is None or token.startswith(KEY_PREFIX):
            raise Unauthorized("Send the header Authorization: Bearer <admin key, or access token of Supabase Auth>")
        user = User(projects.user_of(token))
    if user is not None:
        count_request(projects.records.client, user.id)
    check_query(request)
    return user


def folder_of_key(request: Request, services: Services) -> str | None:
    """Returns the folder of a key that pushes, None for an admin; `Unauthorized` for anyone else."""
    folder, used = None, matching_hash(request.headers, services.admin_keys)
    if used is None:
        if (key := services.stored_keys.matching(request.headers, "push")) is None:
            raise Unauthorized("Send the header Authorization: Bearer <a key that pushes, or an admin key>")
        folder, used = key.folder, key.key_hash
        count_request(services.projects.records.client, used)
    services.record_use(used)
    check_query(request)
    return folder


def publishing(services: Services) -> Iterator[None]:
    """Publishes the events of a change after it."""
    yield
    services.projects.publish_changes()


Records = Annotated[ProjectRecords, Depends(records_of)]
Tables = Annotated[TableAdmin, Depends(tables_of)]
AdminKey = Annotated[str, Depends(admin_key)]
Caller = Annotated[User | None, Depends(current_user)]
FolderOfKey = Annotated[str | None, Depends(folder_of_key)]
# Of a route that changes Tables or Tools.
PUBLISHING = [Depends(publishing)]


def admin_routes(subject: str, *statuses: int) -> APIRouter:
    """Returns an empty router for admins, with the errors that all of its routes may answer with."""
    failures = may_fail(401, 422, *statuses)
    return APIRouter(prefix="/v1", tags=[subject], dependencies=[Depends(admin_key)], responses=failures)


def member_routes(subject: str) -> APIRouter:
    """Returns an empty router for members of projects and admins."""
    failures = may_fail(401, 403, 422, 429, 503)
    return APIRouter(prefix="/v1", tags=[subject], dependencies=[Depends(current_user)], responses=failures)


def push_routes() -> APIRouter:
    """Returns an empty router for keys that push and admins."""
    failures = may_fail(401, 422, 429, 503)
    return APIRouter(prefix="/v1", tags=["Pushes"], dependencies=[Depends(folder_of_key)], responses=failures)
