"""The REST API of projects: Tables, Search Tools, MCP endpoints, and the webhook of platforms."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.errors import Invalid, SakuinError
from sakuin.http import documents as table_bodies
from sakuin.http.callers import UserOf, caller_of, check_hook_secret
from sakuin.http.views import (
    BindingAsked,
    EndpointAsked,
    EndpointChangeAsked,
    EndpointKeyView,
    EndpointsView,
    EndpointView,
    HeardView,
    MemberAsked,
    MembersView,
    MemberView,
    ProjectAsked,
    ProjectsView,
    ProjectView,
    RotationAsked,
    TablesView,
    TableUploadAsked,
    TableView,
    ToolAsked,
    ToolChangeAsked,
    ToolsView,
    ToolView,
    UploadAsked,
    UploadTargetView,
    UploadView,
)
from sakuin.platform.keys import KeyRing
from sakuin.tables.admin.database_changes import HandleDatabaseChange
from sakuin.tables.admin.endpoints import EndpointAdmin
from sakuin.tables.admin.outbox import PublishOutbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.projects import ProjectAdmin
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.admin.tools import ToolAdmin
from sakuin.tables.document import parsed_table, written_table
from sakuin.tables.model import User

logger = logging.getLogger(__name__)


# Lambda answers with 6 MB at most, and its envelope escapes.
_MAX_ANSWER = 4_500_000


@dataclass(frozen=True, slots=True)
class ProjectServices:
    """The use cases behind the API. `user_of` gives a token's user, `hook_secrets` what a webhook may send."""

    records: ProjectRecords
    projects: ProjectAdmin
    tables: TableAdmin
    tools: ToolAdmin
    endpoints: EndpointAdmin
    hear: HandleDatabaseChange
    send: PublishOutbox
    user_of: UserOf
    hook_secrets: Callable[[], Iterable[str]] = field(repr=False)


def project_routers(services: ProjectServices, keys: KeyRing) -> tuple[APIRouter, ...]:
    """Every route of projects; a caller is an admin, or a member, for whom all other projects do not exist."""

    def caller(request: Request) -> User | None:
        return caller_of(request.headers, keys, services.user_of)

    def published() -> Iterator[None]:
        """After a change its events go to the bus; what cannot be sent now `maintain` sends later."""
        yield
        try:
            services.send()
        except SakuinError:
            logger.exception("events stay in the outbox")

    user = Annotated[User | None, Depends(caller)]
    routes = APIRouter(prefix="/v1")
    changing = [Depends(caller), Depends(published)]
    _projects(routes, services, user, changing)
    _tables(routes, services, user, changing)
    _tools(routes, services, user, changing)
    _endpoints(routes, services, user)
    return routes, _hooks(services, [Depends(published)])


async def _raw(request: Request) -> bytes:
    return await request.body()


Raw = Annotated[bytes, Depends(_raw)]


def _projects(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    keep = services.projects

    @routes.post("/projects", status_code=201)
    def create_project(caller: user, asked: ProjectAsked) -> ProjectView:
        """A new project; a user becomes its first member."""
        return ProjectView.model_validate(keep.create(caller, asked.name))

    @routes.get("/projects")
    def projects(caller: user) -> ProjectsView:
        return ProjectsView(projects=[ProjectView.model_validate(one) for one in services.records.projects(caller)])

    @routes.delete("/projects/{project_id}", status_code=204, dependencies=changing)
    def delete_project(caller: user, project_id: UUID) -> None:
        """Deletes a project with its Tables, Tools and endpoints."""
        services.records.delete_project(caller, str(project_id))

    @routes.post("/projects/{project_id}/members", status_code=204)
    def add_member(caller: user, project_id: UUID, asked: MemberAsked) -> None:
        keep.add_member(caller, str(project_id), str(asked.user_id))

    @routes.get("/projects/{project_id}/members")
    def members(caller: user, project_id: UUID) -> MembersView:
        return MembersView(
            members=[MemberView.model_validate(one) for one in services.records.members(caller, str(project_id))]
        )

    @routes.delete("/projects/{project_id}/members/{user_id}", status_code=204)
    def remove_member(caller: user, project_id: UUID, user_id: UUID) -> None:
        """Removes a member, also oneself; 409 for the last one."""
        services.records.remove_member(caller, str(project_id), str(user_id))


def _tables(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    keep = services.tables
    name: dict[str, Any] = {"type": "string"}
    version: dict[str, Any] = {"type": "integer", "description": "Refuse with 409 if the Table has another by now."}
    operation = {
        "type": "object",
        "properties": {"op": {"enum": ["add", "replace", "set", "remove"]}, "path": {"type": "string"}, "value": {}},
        "required": ["op", "path"],
    }

    create_schema = table_bodies.schema("name", "data", name=name, data={})
    replace_schema = table_bodies.schema("data", data={}, expected_version=version)
    patch_schema = table_bodies.schema(
        name=name, operations={"type": "array", "items": operation}, expected_version=version
    )

    @routes.post("/projects/{project_id}/tables", status_code=201, openapi_extra=create_schema)
    def create_table(caller: user, project_id: UUID, body: Raw) -> TableView:
        """A new Table. One over 4 MB is uploaded: `/projects/{project_id}/tables/uploads`."""
        called, document = table_bodies.new_table(body)
        return TableView.model_validate(keep.create(caller, str(project_id), name=called, document=document))

    @routes.post("/projects/{project_id}/tables/uploads", status_code=201)
    def announce_table(caller: user, project_id: UUID, asked: TableUploadAsked) -> UploadView:
        """A new Table whose document is put to the answer's `upload.url`; it is imported when it has come."""
        return _upload(keep.announce(caller, str(project_id), name=asked.name, size=asked.size))

    @routes.get("/projects/{project_id}/tables")
    def tables(caller: user, project_id: UUID) -> TablesView:
        return TablesView(
            tables=[TableView.model_validate(one) for one in services.records.tables(caller, str(project_id))]
        )

    @routes.get("/tables/{table_id}")
    def read_table(caller: user, table_id: UUID) -> TableView:
        return TableView.model_validate(keep.read(caller, str(table_id)))

    @routes.get("/tables/{table_id}/data")
    def read_data(caller: user, table_id: UUID, pointer: str = "") -> Response:
        """The document, or what stands at a JSON Pointer in it."""
        node = written_table(keep.node(caller, str(table_id), pointer))
        if len(node) > _MAX_ANSWER:
            raise Invalid(f"That has {len(node):,} bytes, too many for one answer. Ask for a smaller part by pointer.")
        return Response(node, media_type="application/json")

    @routes.put("/tables/{table_id}", dependencies=changing, openapi_extra=replace_schema)
    def replace_table(caller: user, table_id: UUID, body: Raw) -> TableView:
        document, expected = table_bodies.next_table(body)
        return TableView.model_validate(
            keep.replace(caller, str(table_id), document=document, expected_version=expected)
        )

    @routes.patch("/tables/{table_id}", dependencies=changing, openapi_extra=patch_schema)
    def patch_table(caller: user, table_id: UUID, body: Raw) -> TableView:
        """Changes a document by JSON Pointer: all operations, or none. A name is changed by itself."""
        change = table_bodies.changed_table(body)
        table = None
        if change.operations:
            table = keep.patch(caller, str(table_id), change.operations, expected_version=change.expected_version)
        if change.name is not None:
            table = keep.rename(caller, str(table_id), change.name)
        return TableView.model_validate(table)

    @routes.delete("/tables/{table_id}", status_code=204, dependencies=changing)
    def delete_table(caller: user, table_id: UUID) -> None:
        """Deletes a Table with its Tools."""
        services.records.delete_table(caller, str(table_id))

    @routes.post("/tables/{table_id}/uploads", status_code=201)
    def announce_document(caller: user, table_id: UUID, asked: UploadAsked) -> UploadView:
        """A Table's next document is put to the answer's `upload.url`."""
        return _upload(keep.announce_document(caller, str(table_id), size=asked.size))


def _upload(announced: tuple[Any, Any]) -> UploadView:
    table, target = announced
    return UploadView(table=TableView.model_validate(table), upload=UploadTargetView.model_validate(target))


def _tools(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    keep = services.tools

    @routes.post("/projects/{project_id}/tools", status_code=201, dependencies=changing)
    def create_tool(caller: user, project_id: UUID, asked: ToolAsked) -> ToolView:
        """A new Search Tool, at once; `metadata.search_index.state` tells when it can be searched."""
        made = keep.create(
            caller,
            str(project_id),
            table_id=str(asked.table_id),
            json_path=asked.json_path,
            type=asked.type,
            name=asked.name,
            description=asked.description,
        )
        return ToolView.model_validate(made)

    @routes.get("/projects/{project_id}/tools")
    def tools(caller: user, project_id: UUID) -> ToolsView:
        return ToolsView(
            tools=[ToolView.model_validate(one) for one in services.records.tools(caller, str(project_id))]
        )

    @routes.get("/tools/{tool_id}")
    def read_tool(caller: user, tool_id: UUID) -> ToolView:
        return ToolView.model_validate(services.records.tool(caller, str(tool_id)))

    @routes.patch("/tools/{tool_id}", dependencies=changing)
    def change_tool(caller: user, tool_id: UUID, asked: ToolChangeAsked) -> ToolView:
        """Renames, describes, enables or disables."""
        return ToolView.model_validate(keep.change(caller, str(tool_id), **asked.model_dump()))

    @routes.post("/tools/{tool_id}/reindex", status_code=202, dependencies=changing)
    def reindex_tool(caller: user, tool_id: UUID) -> ToolView:
        return ToolView.model_validate(services.records.reindex_tool(caller, str(tool_id)))

    @routes.delete("/tools/{tool_id}", status_code=204, dependencies=changing)
    def delete_tool(caller: user, tool_id: UUID) -> None:
        services.records.delete_tool(caller, str(tool_id))


def _endpoints(routes: APIRouter, services: ProjectServices, user: Any) -> None:
    keep = services.endpoints

    @routes.post("/projects/{project_id}/mcps", status_code=201)
    def create_mcp(caller: user, project_id: UUID, asked: EndpointAsked) -> EndpointKeyView:
        """A new endpoint with its Tools; the key is shown this once."""
        wanted = [str(tool_id) for tool_id in asked.tool_ids]
        return _with_key(keep.create(caller, str(project_id), name=asked.name, tools=wanted))

    @routes.get("/projects/{project_id}/mcps")
    def mcps(caller: user, project_id: UUID) -> EndpointsView:
        return EndpointsView(
            mcps=[EndpointView.model_validate(one) for one in services.records.endpoints(caller, str(project_id))]
        )

    @routes.get("/mcps/{mcp_id}")
    def read_mcp(caller: user, mcp_id: UUID) -> EndpointView:
        return EndpointView.model_validate(services.records.endpoint(caller, str(mcp_id)))

    @routes.patch("/mcps/{mcp_id}")
    def change_mcp(caller: user, mcp_id: UUID, asked: EndpointChangeAsked) -> EndpointView:
        """Renames, enables or disables."""
        return EndpointView.model_validate(keep.change(caller, str(mcp_id), name=asked.name, status=asked.status))

    @routes.post("/mcps/{mcp_id}/rotate")
    def rotate_mcp(caller: user, mcp_id: UUID, asked: RotationAsked | None = None) -> EndpointKeyView:
        """Another key, shown this once; the old one opens for `overlap_seconds` more."""
        overlap = (asked or RotationAsked()).overlap_seconds
        return _with_key(keep.rotate(caller, str(mcp_id), overlap_seconds=overlap))

    @routes.delete("/mcps/{mcp_id}", status_code=204)
    def delete_mcp(caller: user, mcp_id: UUID) -> None:
        services.records.delete_endpoint(caller, str(mcp_id))

    @routes.put("/mcps/{mcp_id}/tools/{tool_id}")
    def bind_tool(caller: user, mcp_id: UUID, tool_id: UUID, asked: BindingAsked | None = None) -> EndpointView:
        """Binds a Tool, or enables and disables its binding."""
        status = (asked or BindingAsked()).status
        return EndpointView.model_validate(keep.bind(caller, str(mcp_id), str(tool_id), status=status))

    @routes.delete("/mcps/{mcp_id}/tools/{tool_id}")
    def unbind_tool(caller: user, mcp_id: UUID, tool_id: UUID) -> EndpointView:
        return EndpointView.model_validate(services.records.unbind(caller, str(mcp_id), str(tool_id)))


def _with_key(made: tuple[Any, str]) -> EndpointKeyView:
    return EndpointKeyView(mcp=EndpointView.model_validate(made[0]), key=made[1])


def _hooks(services: ProjectServices, publishing: Any) -> APIRouter:
    routes = APIRouter(prefix="/hooks")

    def from_platform(request: Request) -> None:
        check_hook_secret(request.headers, services.hook_secrets())

    @routes.post("/supabase", status_code=202, dependencies=[Depends(from_platform), *publishing])
    def supabase_hook(body: Raw) -> HeardView:
        """A database webhook of the tables `tool` and `context_table`. Only ids are taken from it."""
        return HeardView(started=services.hear(parsed_table(body)))

    return routes
