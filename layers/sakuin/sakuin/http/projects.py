"""The REST API of projects: Tables, Search Tools, MCP endpoints, and the webhook of Supabase."""

import hmac
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.errors import Invalid, SakuinError, Unauthorized
from sakuin.http import documents, views
from sakuin.http.synonyms import add_synonym_routes
from sakuin.platform.keys import KEY_PREFIX, key_of, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.tables.admin.checks import check_name
from sakuin.tables.admin.database_changes import HandleDatabaseChange
from sakuin.tables.admin.endpoints import EndpointAdmin
from sakuin.tables.admin.outbox import PublishOutbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.admin.tools import ToolAdmin
from sakuin.tables.document import parsed_table, written_table
from sakuin.tables.model import User

logger = logging.getLogger(__name__)

# Gives the UUID of a token's user, or raises `Unauthorized`.
UserOf = Callable[[str], str]

# An answer of Lambda has at most 6 MB, and escaping makes it longer.
_MAX_ANSWER = 4_500_000


@dataclass(frozen=True, slots=True)
class ProjectServices:
    """The use cases of the API. `hook_secrets` are the accepted secrets of webhooks."""

    records: ProjectRecords
    tables: TableAdmin
    tools: ToolAdmin
    endpoints: EndpointAdmin
    handle_change: HandleDatabaseChange
    publish: PublishOutbox
    user_of: UserOf
    hook_secrets: Callable[[], Iterable[str]] = field(repr=False)


def project_routers(services: ProjectServices, keys: KeyRing) -> tuple[APIRouter, ...]:
    """Returns the routes. A caller is an admin or a member: 404 for other projects, 403 for what the role forbids."""

    def caller(request: Request) -> User | None:
        return caller_of(request.headers, keys, services.user_of)

    def publishing() -> Iterator[None]:
        """Publishes the events of a change. If that fails, `maintain` publishes them later."""
        yield
        try:
            services.publish()
        except SakuinError:
            logger.exception("the outbox is not published")

    user = Annotated[User | None, Depends(caller)]
    routes = APIRouter(prefix="/v1")
    changing = [Depends(caller), Depends(publishing)]
    _projects(routes, services, user, changing)
    add_synonym_routes(routes, services.records, user)
    _tables(routes, services, user, changing)
    _tools(routes, services, user, changing)
    _endpoints(routes, services, user)
    return routes, _hooks(services, [Depends(publishing)])


def caller_of(headers: Mapping[str, str], keys: KeyRing, user_of: UserOf) -> User | None:
    """Returns the user, None for an admin; `Unauthorized` for anyone else. Header names are lower case."""
    if matching_hash(headers, keys) is not None:
        return None
    token = key_of(headers)
    if token is None or token.startswith(KEY_PREFIX):
        raise Unauthorized("Send the header Authorization: Bearer <admin key, or access token of Supabase Auth>")
    return User(user_of(token), token)


def check_hook_secret(headers: Mapping[str, str], secrets: Iterable[str]) -> None:
    """Raises `Unauthorized` unless the header `x-sakuin-secret` is one of the secrets."""
    sent = headers.get("x-sakuin-secret", "").encode()
    if not sum(hmac.compare_digest(sent, secret.encode()) for secret in secrets if secret):
        raise Unauthorized("Send the webhook's shared secret in the header x-sakuin-secret")


async def _raw(request: Request) -> bytes:
    return await request.body()


Raw = Annotated[bytes, Depends(_raw)]


def _projects(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    @routes.post("/projects", status_code=201)
    def create_project(caller: user, asked: views.ProjectAsked) -> views.ProjectView:
        """Creates a project. A user becomes its owner."""
        return views.ProjectView.model_validate(services.records.create_project(caller, check_name(asked.name)))

    @routes.get("/projects")
    def projects(caller: user) -> views.ProjectsView:
        return views.ProjectsView(
            projects=[views.ProjectView.model_validate(one) for one in services.records.projects(caller)]
        )

    @routes.delete("/projects/{project_id}", status_code=204, dependencies=changing)
    def delete_project(caller: user, project_id: UUID) -> None:
        """Deletes a project with its Tables, Tools and endpoints. Needs the role `owner`."""
        services.records.delete_project(caller, str(project_id))

    @routes.post("/projects/{project_id}/members", status_code=204)
    def add_member(caller: user, project_id: UUID, asked: views.MemberAsked) -> None:
        """Makes a user a member, or gives a member another role. Needs the role `owner`."""
        services.records.add_member(caller, str(project_id), str(asked.user_id), asked.role)

    @routes.post("/projects/{project_id}/transfer", status_code=204)
    def transfer_project(caller: user, project_id: UUID, asked: views.TransferAsked) -> None:
        """Makes a member the owner; the caller becomes an editor. With an admin key all other owners do."""
        services.records.transfer_project(caller, str(project_id), str(asked.user_id))

    @routes.get("/projects/{project_id}/members")
    def members(caller: user, project_id: UUID) -> views.MembersView:
        return views.MembersView(
            members=[views.MemberView.model_validate(one) for one in services.records.members(caller, str(project_id))]
        )

    @routes.delete("/projects/{project_id}/members/{user_id}", status_code=204)
    def remove_member(caller: user, project_id: UUID, user_id: UUID) -> None:
        """Removes a member, or the caller; only an owner removes others, and no other owner. 409 for the last owner."""
        services.records.remove_member(caller, str(project_id), str(user_id))


def _tables(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    admin = services.tables
    name: dict[str, Any] = {"type": "string"}
    version: dict[str, Any] = {"type": "integer", "description": "409 if the Table has another version now."}
    threshold: dict[str, Any] = {"type": "integer", "description": "The length from which strings are indexed."}
    operation = {
        "type": "object",
        "properties": {"op": {"enum": ["add", "replace", "set", "remove"]}, "path": {"type": "string"}, "value": {}},
        "required": ["op", "path"],
    }

    create_schema = documents.schema("name", "data", name=name, data={}, chunk_threshold_chars=threshold)
    replace_schema = documents.schema("data", data={}, expected_version=version)
    patch_schema = documents.schema(
        name=name,
        chunk_threshold_chars=threshold,
        operations={"type": "array", "items": operation},
        expected_version=version,
    )

    @routes.post("/projects/{project_id}/tables", status_code=201, openapi_extra=create_schema)
    def create_table(caller: user, project_id: UUID, body: Raw) -> views.TableView:
        """Creates a Table. For a document over 4 MB use `/projects/{project_id}/tables/uploads`."""
        called, document, chars = documents.new_table(body)
        return views.TableView.model_validate(
            admin.create(caller, str(project_id), name=called, document=document, chunk_threshold_chars=chars)
        )

    @routes.post("/projects/{project_id}/tables/uploads", status_code=201)
    def announce_table(caller: user, project_id: UUID, asked: views.TableUploadAsked) -> views.UploadView:
        """Creates a Table and returns the URL for its document (`upload.url`), which is imported after the upload."""
        return _upload(admin.announce(caller, str(project_id), **asked.model_dump()))

    @routes.get("/projects/{project_id}/tables")
    def tables(caller: user, project_id: UUID) -> views.TablesView:
        return views.TablesView(
            tables=[views.TableView.model_validate(one) for one in services.records.tables(caller, str(project_id))]
        )

    @routes.get("/tables/{table_id}")
    def read_table(caller: user, table_id: UUID) -> views.TableView:
        return views.TableView.model_validate(admin.read(caller, str(table_id)))

    @routes.get("/tables/{table_id}/data")
    def read_data(caller: user, table_id: UUID, pointer: str = "") -> Response:
        """Returns the document, or the part at a JSON Pointer."""
        node = written_table(admin.node(caller, str(table_id), pointer))
        if len(node) > _MAX_ANSWER:
            raise Invalid(
                f"The answer has {len(node):,} bytes; the limit is {_MAX_ANSWER:,}. Read a smaller part by pointer."
            )
        return Response(node, media_type="application/json")

    @routes.put("/tables/{table_id}", dependencies=changing, openapi_extra=replace_schema)
    def replace_table(caller: user, table_id: UUID, body: Raw) -> views.TableView:
        document, expected = documents.next_table(body)
        return views.TableView.model_validate(
            admin.replace(caller, str(table_id), document=document, expected_version=expected)
        )

    @routes.patch("/tables/{table_id}", dependencies=changing, openapi_extra=patch_schema)
    def patch_table(caller: user, table_id: UUID, body: Raw) -> views.TableView:
        """Changes a document by JSON Pointer: all operations or none. Name and threshold are set separately."""
        change = documents.changed_table(body)
        table = None
        if change.operations:
            table = admin.patch(caller, str(table_id), change.operations, expected_version=change.expected_version)
        if change.name is not None or change.chunk_threshold_chars is not None:
            table = admin.change(
                caller, str(table_id), name=change.name, chunk_threshold_chars=change.chunk_threshold_chars
            )
        return views.TableView.model_validate(table)

    @routes.delete("/tables/{table_id}", status_code=204, dependencies=changing)
    def delete_table(caller: user, table_id: UUID) -> None:
        """Deletes a Table with its Tools."""
        services.records.delete_table(caller, str(table_id))

    @routes.post("/tables/{table_id}/uploads", status_code=201)
    def announce_document(caller: user, table_id: UUID, asked: views.UploadAsked) -> views.UploadView:
        """Returns the URL (`upload.url`) for the next document of a Table."""
        return _upload(admin.announce_document(caller, str(table_id), size=asked.size))


def _upload(announced: tuple[Any, Any]) -> views.UploadView:
    table, target = announced
    return views.UploadView(
        table=views.TableView.model_validate(table), upload=views.UploadTargetView.model_validate(target)
    )


def _tools(routes: APIRouter, services: ProjectServices, user: Any, changing: Any) -> None:
    admin = services.tools

    @routes.post("/projects/{project_id}/tools", status_code=201, dependencies=changing)
    def create_tool(caller: user, project_id: UUID, asked: views.ToolAsked) -> views.ToolView:
        """Creates a Search Tool. `metadata.search_index.state` shows when it can be searched."""
        made = admin.create(
            caller,
            str(project_id),
            table_id=str(asked.table_id),
            json_path=asked.json_path,
            type=asked.type,
            name=asked.name,
            description=asked.description,
        )
        return views.ToolView.model_validate(made)

    @routes.get("/projects/{project_id}/tools")
    def tools(caller: user, project_id: UUID) -> views.ToolsView:
        return views.ToolsView(
            tools=[views.ToolView.model_validate(one) for one in services.records.tools(caller, str(project_id))]
        )

    @routes.get("/tools/{tool_id}")
    def read_tool(caller: user, tool_id: UUID) -> views.ToolView:
        return views.ToolView.model_validate(services.records.tool(caller, str(tool_id)))

    @routes.patch("/tools/{tool_id}", dependencies=changing)
    def change_tool(caller: user, tool_id: UUID, asked: views.ToolChangeAsked) -> views.ToolView:
        """Changes the name, the description or `enabled`."""
        return views.ToolView.model_validate(admin.change(caller, str(tool_id), **asked.model_dump()))

    @routes.post("/tools/{tool_id}/reindex", status_code=202, dependencies=changing)
    def reindex_tool(caller: user, tool_id: UUID) -> views.ToolView:
        return views.ToolView.model_validate(services.records.reindex_tool(caller, str(tool_id)))

    @routes.delete("/tools/{tool_id}", status_code=204, dependencies=changing)
    def delete_tool(caller: user, tool_id: UUID) -> None:
        services.records.delete_tool(caller, str(tool_id))


def _endpoints(routes: APIRouter, services: ProjectServices, user: Any) -> None:
    admin = services.endpoints

    @routes.post("/projects/{project_id}/mcps", status_code=201)
    def create_mcp(caller: user, project_id: UUID, asked: views.EndpointAsked) -> views.EndpointKeyView:
        """Creates an endpoint with its Tools. Its key is shown only once."""
        wanted = [str(tool_id) for tool_id in asked.tool_ids]
        return _with_key(admin.create(caller, str(project_id), name=asked.name, tools=wanted))

    @routes.get("/projects/{project_id}/mcps")
    def mcps(caller: user, project_id: UUID) -> views.EndpointsView:
        return views.EndpointsView(
            mcps=[views.EndpointView.model_validate(one) for one in services.records.endpoints(caller, str(project_id))]
        )

    @routes.get("/mcps/{mcp_id}")
    def read_mcp(caller: user, mcp_id: UUID) -> views.EndpointView:
        return views.EndpointView.model_validate(services.records.endpoint(caller, str(mcp_id)))

    @routes.patch("/mcps/{mcp_id}")
    def change_mcp(caller: user, mcp_id: UUID, asked: views.EndpointChangeAsked) -> views.EndpointView:
        """Changes the name or the status."""
        return views.EndpointView.model_validate(
            admin.change(caller, str(mcp_id), name=asked.name, status=asked.status)
        )

    @routes.post("/mcps/{mcp_id}/rotate")
    def rotate_mcp(caller: user, mcp_id: UUID, asked: views.RotationAsked | None = None) -> views.EndpointKeyView:
        """Returns a new key, shown only once. The old key stays valid for `overlap_seconds`."""
        overlap = (asked or views.RotationAsked()).overlap_seconds
        return _with_key(admin.rotate(caller, str(mcp_id), overlap_seconds=overlap))

    @routes.delete("/mcps/{mcp_id}", status_code=204)
    def delete_mcp(caller: user, mcp_id: UUID) -> None:
        services.records.delete_endpoint(caller, str(mcp_id))

    @routes.put("/mcps/{mcp_id}/tools/{tool_id}")
    def bind_tool(
        caller: user, mcp_id: UUID, tool_id: UUID, asked: views.BindingAsked | None = None
    ) -> views.EndpointView:
        """Binds a Tool, or changes the status of its binding."""
        status = (asked or views.BindingAsked()).status
        return views.EndpointView.model_validate(admin.bind(caller, str(mcp_id), str(tool_id), status=status))

    @routes.delete("/mcps/{mcp_id}/tools/{tool_id}")
    def unbind_tool(caller: user, mcp_id: UUID, tool_id: UUID) -> views.EndpointView:
        return views.EndpointView.model_validate(services.records.unbind(caller, str(mcp_id), str(tool_id)))


def _with_key(made: tuple[Any, str]) -> views.EndpointKeyView:
    return views.EndpointKeyView(mcp=views.EndpointView.model_validate(made[0]), key=made[1])


def _hooks(services: ProjectServices, publishing: Any) -> APIRouter:
    routes = APIRouter(prefix="/hooks")

    def check_secret(request: Request) -> None:
        check_hook_secret(request.headers, services.hook_secrets())

    @routes.post("/supabase", status_code=202, dependencies=[Depends(check_secret), *publishing])
    def supabase_hook(body: Raw) -> views.HookView:
        """Receives a database webhook of the tables `tool` and `context_table`. Only ids are read from it."""
        return views.HookView(started=services.handle_change(parsed_table(body)))

    return routes
