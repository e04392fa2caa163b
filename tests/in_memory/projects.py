"""Projects in memory, their outbox, a bus, bodies, and tokens that are the user's own id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from sakuin.domain.project_records import (
    BoundTool,
    Endpoint,
    EventName,
    Member,
    OutboxEvent,
    PendingUpload,
    Project,
    StoredTable,
    Switch,
    Table,
    Tool,
    UploadTarget,
    User,
)
from sakuin.entrypoints.http_projects import ProjectServices
from sakuin.errors import Conflict, Invalid, NotFound, Unauthorized, Unavailable
from sakuin.services.hear_of_changes import HearOfChanges
from sakuin.services.keep_endpoints import KeepEndpoints
from sakuin.services.keep_projects import KeepProjects
from sakuin.services.keep_tables import KeepTables
from sakuin.services.keep_tools import KeepTools
from sakuin.services.send_events import SendEvents


@dataclass
class MemoryOutbox:
    """An `Outbox`."""

    waiting: list[OutboxEvent] = field(default_factory=list)
    last: int = 0

    def write(self, event: EventName, project_id: str, table_id: str, tool_id: str | None) -> None:
        self.last += 1
        self.waiting.append(OutboxEvent(self.last, event, project_id, table_id, tool_id))

    def unsent(self, *, limit: int) -> Sequence[OutboxEvent]:
        return self.waiting[:limit]

    def sent(self, ids: Collection[int]) -> None:
        self.waiting = [event for event in self.waiting if event.id not in ids]


@dataclass
class MemoryBus:
    """An `EventBus`; `down` takes nothing."""

    taken: list[OutboxEvent] = field(default_factory=list)
    down: bool = False

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        if self.down:
            raise Unavailable("EventBridge did not take the events")
        self.taken += events
        return {event.id for event in events}

    @property
    def names(self) -> list[str]:
        return [event.event for event in self.taken]


@dataclass
class MemoryBodies:
    """A `TableBodies`."""

    bodies: dict[str, bytes] = field(default_factory=dict)

    def presigned_put(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        return UploadTarget(f"https://bucket/{key}?seconds={seconds}", {"Content-Length": str(size)})

    def read(self, key: str, *, max_bytes: int) -> bytes:
        if key not in self.bodies:
            raise NotFound(f"{key} is not in the bucket")
        if len(self.bodies[key]) > max_bytes:
            raise Invalid(f"The document has {len(self.bodies[key]):,} bytes; the limit is {max_bytes:,} (table_bytes)")
        return self.bodies[key]

    def write(self, key: str, body: bytes) -> None:
        self.bodies[key] = body


@dataclass
class _Row:
    table: Table
    data: str | None
    data_key: str | None = None
    generation: int = 1
    upload: int = 0
    imported: int = 0


@dataclass
class _Mcp:
    endpoint: Endpoint
    key_hash: str
    previous_hash: str | None = None
    bindings: dict[str, Switch] = field(default_factory=dict)


@dataclass
class MemoryProjects:
    """A `ProjectRecords`."""

    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    by_id: dict[str, Project] = field(default_factory=dict)
    memberships: dict[tuple[str, str], Member] = field(default_factory=dict)
    creators: dict[str, str] = field(default_factory=dict)
    rows: dict[str, _Row] = field(default_factory=dict)
    tools_by_id: dict[str, Tool] = field(default_factory=dict)
    mcps: dict[str, _Mcp] = field(default_factory=dict)

    def create_project(self, user: User | None, name: str) -> Project:
        project = self.by_id.setdefault(id := str(uuid4()), Project(id, name))
        if user is not None:
            self.creators[id] = user.id
            self.add_member(user=None, project_id=id, member=user.id)
        return project

    def projects(self, user: User | None) -> Sequence[Project]:
        return [project for project in self.by_id.values() if self._sees(user, project.id)]

    def count_projects(self, user: User) -> int:
        return sum(self.creators.get(id) == user.id for id in self.by_id)

    def delete_project(self, user: User | None, project_id: str) -> None:
        self._project(user, project_id)
        for table in self.tables(user, project_id):
            self.delete_table(user, table.id)
        self.mcps = {id: mcp for id, mcp in self.mcps.items() if mcp.endpoint.project_id != project_id}
        del self.by_id[project_id]

    def add_member(self, user: User | None, project_id: str, member: str) -> None:
        self._project(user, project_id)
        self.memberships.setdefault(
            (project_id, member), Member(member, f"2026-11-22T00:00:{len(self.memberships):02}Z")
        )

    def members(self, user: User | None, project_id: str) -> Sequence[Member]:
        self._project(user, project_id)
        return [member for (project, _), member in self.memberships.items() if project == project_id]

    def remove_member(self, user: User | None, project_id: str, member: str) -> None:
        there = {one.user_id for one in self.members(user, project_id)}
        if member not in there:
            raise NotFound(f"There is no member {member}")
        if there == {member}:
            raise Conflict("This is the last member: make another one first, or delete the project")
        del self.memberships[project_id, member]

    def create_table(self, user: User | None, project_id: str, *, name: str, data: str | None) -> Table:
        self._project(user, project_id)
        table = Table(str(uuid4()), project_id, name, 0 if data is None else 1, None, False)
        self.rows[table.id] = _Row(table, data)
        return table

    def table(self, user: User | None, table_id: str) -> StoredTable:
        row = self._row(user, table_id)
        return StoredTable(self._view(row), row.data, row.data_key)

    def tables(self, user: User | None, project_id: str) -> Sequence[Table]:
        self._project(user, project_id)
        rows = [row for row in self.rows.values() if row.table.project_id == project_id]
        return sorted(map(self._view, rows), key=lambda table: (table.name, table.id))

    def replace_table(self, user: User | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        row = self._row(user, table_id)
        if expected_version not in (None, row.table.version):
            raise Conflict(f"The table has version {row.table.version}, not {expected_version}")
        row.data, row.data_key = data, None
        row.upload = row.imported = row.upload + 1
        row.table = replace(row.table, version=row.table.version + 1, import_error=None)
        self._changed("TableUpdated", table_id, None)
        return self._view(row)

    def rename_table(self, user: User | None, table_id: str, name: str) -> Table:
        row = self._row(user, table_id)
        row.table = replace(row.table, name=name)
        return self._view(row)

    def delete_table(self, user: User | None, table_id: str) -> None:
        row = self._row(user, table_id)
        for tool in [tool for tool in self.tools_by_id.values() if tool.table_id == table_id]:
            self._forget(tool.id)
        del self.rows[table_id]
        self.outbox.write("TableDeleted", row.table.project_id, table_id, None)

    def begin_upload(self, user: User | None, table_id: str) -> PendingUpload:
        row = self._row(user, table_id)
        row.upload += 1
        return PendingUpload(row.table.project_id, table_id, row.upload)

    def finish_upload(self, table_id: str, upload: int, key: str | None, error: str | None) -> bool:
        row = self.rows.get(table_id)
        if row is None or upload <= row.imported:
            return False
        row.imported = upload
        row.table = replace(row.table, import_error=error)
        if error is None:
            row.data, row.data_key = None, key
            row.table = replace(row.table, version=row.table.version + 1)
            self._changed("TableUpdated", table_id, None)
        return True

    def create_tool(
        self,
        user: User | None,
        table_id: str,
        *,
        json_path: str,
        name: str,
        description: str,
        input_schema: Mapping[str, Any],
    ) -> Tool:
        table = self._row(user, table_id).table
        made = Tool(
            *(str(uuid4()), table.project_id, table_id, json_path, "search", name, description),
            *(input_schema, True, {}, 1),
        )
        self.tools_by_id[made.id] = made
        self._changed("ToolCreated", table_id, made.id)
        return self.tools_by_id[made.id]

    def tool(self, user: User | None, tool_id: str) -> Tool:
        found = self.tools_by_id.get(tool_id)
        if found is None or not self._sees(user, found.project_id):
            raise NotFound(f"There is no tool {tool_id}")
        return found

    def tools(self, user: User | None, project_id: str) -> Sequence[Tool]:
        self._project(user, project_id)
        found = [tool for tool in self.tools_by_id.values() if tool.project_id == project_id]
        return sorted(found, key=lambda tool: (tool.name, tool.id))

    def change_tool(
        self,
        user: User | None,
        tool_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Tool:
        old = self.tool(user, tool_id)
        if name is not None and any(
            tool_id in mcp.bindings and self._taken(mcp, name, but=tool_id) for mcp in self.mcps.values()
        ):
            raise Conflict(f"An endpoint of this tool has another tool named {name}")
        self.tools_by_id[tool_id] = replace(
            old,
            name=name or old.name,
            description=description or old.description,
            enabled=old.enabled if enabled is None else enabled,
            version=old.version + 1,
        )
        if enabled not in (None, old.enabled):
            self._changed("ToolUpdated", old.table_id, tool_id)
        return self.tools_by_id[tool_id]

    def reindex_tool(self, user: User | None, tool_id: str) -> Tool:
        self._changed("ToolUpdated", self.tool(user, tool_id).table_id, tool_id)
        return self.tools_by_id[tool_id]

    def delete_tool(self, user: User | None, tool_id: str) -> None:
        gone = self.tool(user, tool_id)
        self._forget(tool_id)
        self._changed("ToolDeleted", gone.table_id, tool_id)

    def create_endpoint(
        self, user: User | None, project_id: str, *, name: str, key_hash: str, tools: Sequence[str]
    ) -> Endpoint:
        self._project(user, project_id)
        made = self.mcps.setdefault(id := str(uuid4()), _Mcp(Endpoint(id, project_id, name, "enabled", ()), key_hash))
        try:
            for tool_id in tools:
                self.bind(user, id, tool_id, status="enabled")
        except (NotFound, Conflict):
            del self.mcps[id]
            raise
        return self._shown(made)

    def endpoint(self, user: User | None, mcp_id: str) -> Endpoint:
        return self._shown(self._mcp(user, mcp_id))

    def endpoints(self, user: User | None, project_id: str) -> Sequence[Endpoint]:
        self._project(user, project_id)
        found = [self._shown(mcp) for mcp in self.mcps.values() if mcp.endpoint.project_id == project_id]
        return sorted(found, key=lambda endpoint: (endpoint.name, endpoint.id))

    def bind(self, user: User | None, mcp_id: str, tool_id: str, *, status: Switch) -> Endpoint:
        mcp, tool = self._mcp(user, mcp_id), self.tool(user, tool_id)
        if tool.project_id != mcp.endpoint.project_id:
            raise NotFound(f"There is no tool {tool_id}")
        if self._taken(mcp, tool.name, but=tool_id):
            raise Conflict(f"This endpoint has another tool named {tool.name}")
        mcp.bindings[tool_id] = status
        return self._shown(mcp)

    def unbind(self, user: User | None, mcp_id: str, tool_id: str) -> Endpoint:
        mcp = self._mcp(user, mcp_id)
        if mcp.bindings.pop(tool_id, None) is None:
            raise NotFound(f"The tool {tool_id} is not bound to this endpoint")
        return self._shown(mcp)

    def rotate(self, user: User | None, mcp_id: str, *, key_hash: str, overlap_seconds: int) -> Endpoint:
        mcp = self._mcp(user, mcp_id)
        mcp.previous_hash, mcp.key_hash = mcp.key_hash, key_hash
        return self._shown(mcp)

    def change_endpoint(
        self, user: User | None, mcp_id: str, *, name: str | None = None, status: Switch | None = None
    ) -> Endpoint:
        mcp = self._mcp(user, mcp_id)
        old = mcp.endpoint
        mcp.endpoint = replace(old, name=name or old.name, status=status or old.status)
        return self._shown(mcp)

    def delete_endpoint(self, user: User | None, mcp_id: str) -> None:
        self._mcp(user, mcp_id)
        del self.mcps[mcp_id]

    def changed_elsewhere(self, event: EventName, *, project_id: str, table_id: str, tool_id: str | None) -> None:
        if table_id in self.rows:
            self._changed(event, table_id, tool_id)
        elif event == "TableDeleted":
            self.outbox.write(event, project_id, table_id, None)

    def _changed(self, event: EventName, table_id: str, tool_id: str | None) -> None:
        row = self.rows[table_id]
        row.generation += 1
        status = {"state": "pending", "generation": row.generation, "configured_at": "now", "attempt": 0}
        for tool in self.tools_by_id.values():
            if tool.table_id == table_id and tool.enabled:
                index = {**tool.metadata.get("search_index", {}), **status}
                self.tools_by_id[tool.id] = replace(tool, metadata={**tool.metadata, "search_index": index})
        self.outbox.write(event, row.table.project_id, table_id, tool_id)

    def _forget(self, tool_id: str) -> None:
        del self.tools_by_id[tool_id]
        for mcp in self.mcps.values():
            mcp.bindings.pop(tool_id, None)

    def _taken(self, mcp: _Mcp, name: str, *, but: str) -> bool:
        return any(self.tools_by_id[id].name == name for id in mcp.bindings if id != but)

    def _sees(self, user: User | None, project_id: str) -> bool:
        return user is None or (project_id, user.id) in self.memberships

    def _project(self, user: User | None, project_id: str) -> None:
        if project_id not in self.by_id or not self._sees(user, project_id):
            raise NotFound(f"There is no project {project_id}")

    def _row(self, user: User | None, table_id: str) -> _Row:
        row = self.rows.get(table_id)
        if row is None or not self._sees(user, row.table.project_id):
            raise NotFound(f"There is no table {table_id}")
        return row

    def _mcp(self, user: User | None, mcp_id: str) -> _Mcp:
        mcp = self.mcps.get(mcp_id)
        if mcp is None or not self._sees(user, mcp.endpoint.project_id):
            raise NotFound(f"There is no endpoint {mcp_id}")
        return mcp

    def _view(self, row: _Row) -> Table:
        return replace(row.table, pending_upload=row.upload > row.imported)

    def _shown(self, mcp: _Mcp) -> Endpoint:
        bound = (BoundTool(id, self.tools_by_id[id].name, status) for id, status in mcp.bindings.items())
        return replace(mcp.endpoint, tools=tuple(sorted(bound, key=lambda tool: tool.name)))


def user_of(token: str) -> str:
    """The fake tokens: a user's UUID is his token."""
    try:
        return str(UUID(token))
    except ValueError:
        raise Unauthorized("The token is wrong or too old. Sign in again") from None


HOOK_SECRET = "hook-secret"


def services_of(records: MemoryProjects, bodies: MemoryBodies, bus: MemoryBus) -> ProjectServices:
    """The use cases over the fakes."""
    return ProjectServices(
        projects=KeepProjects(records),
        tables=KeepTables(records, bodies),
        tools=KeepTools(records),
        endpoints=KeepEndpoints(records),
        hear=HearOfChanges(records),
        send=SendEvents(records.outbox, bus),
        user_of=user_of,
        hook_secrets=lambda: (HOOK_SECRET,),
    )
