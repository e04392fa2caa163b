"""Projects, Tables, Tools and endpoints in Supabase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import answer, call
from sakuin.adapters.supabase_members import Acting, call_as_member, nobody
from sakuin.domain.project_records import (
    BoundTool,
    Endpoint,
    EventName,
    Member,
    PendingUpload,
    Project,
    StoredTable,
    Switch,
    Table,
    Tool,
    User,
)


@dataclass(frozen=True, slots=True)
class SupabaseProjects:
    """A `ProjectRecords`; the rules are in the SQL functions.

    For an admin and for the workers `client` acts, for a user what `acting` gives for his token.
    """

    client: Client
    acting: Acting = nobody

    def create_project(self, user: User | None, name: str) -> Project:
        return Project(**self._call(user, "create_project", p_name=name))

    def projects(self, user: User | None) -> Sequence[Project]:
        return [Project(**row) for row in self._call(user, "list_projects")]

    def count_projects(self, user: User) -> int:
        return int(self._call(user, "count_projects"))

    def delete_project(self, user: User | None, project_id: str) -> None:
        self._call(user, "delete_project", p_project=project_id)

    def add_member(self, user: User | None, project_id: str, member: str) -> None:
        self._call(user, "add_member", p_project=project_id, p_member=member)

    def members(self, user: User | None, project_id: str) -> Sequence[Member]:
        return [Member(**row) for row in self._call(user, "list_members", p_project=project_id)]

    def remove_member(self, user: User | None, project_id: str, member: str) -> None:
        self._call(user, "remove_member", p_project=project_id, p_member=member)

    def create_table(self, user: User | None, project_id: str, *, name: str, data: str | None) -> Table:
        return Table(**self._call(user, "create_table", p_project=project_id, p_name=name, p_data=data))

    def table(self, user: User | None, table_id: str) -> StoredTable:
        row = self._call(user, "read_table", p_table=table_id)
        data, data_key = row.pop("data"), row.pop("data_key")
        return StoredTable(Table(**row), data, data_key)

    def tables(self, user: User | None, project_id: str) -> Sequence[Table]:
        return [Table(**row) for row in self._call(user, "list_tables", p_project=project_id)]

    def replace_table(self, user: User | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        return Table(
            **self._call(user, "replace_table", p_table=table_id, p_data=data, p_expected_version=expected_version)
        )

    def rename_table(self, user: User | None, table_id: str, name: str) -> Table:
        return Table(**self._call(user, "rename_table", p_table=table_id, p_name=name))

    def delete_table(self, user: User | None, table_id: str) -> None:
        self._call(user, "delete_table", p_table=table_id)

    def begin_upload(self, user: User | None, table_id: str) -> PendingUpload:
        return PendingUpload(**self._call(user, "begin_upload", p_table=table_id))

    def finish_upload(self, table_id: str, upload: int, key: str | None, error: str | None) -> bool:
        return bool(self._own("finish_upload", p_table=table_id, p_upload=upload, p_key=key, p_error=error))

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
        return Tool(
            **self._call(
                user,
                "create_tool",
                p_table=table_id,
                p_json_path=json_path,
                p_name=name,
                p_description=description,
                p_input_schema=input_schema,
            )
        )

    def tool(self, user: User | None, tool_id: str) -> Tool:
        return Tool(**self._call(user, "read_tool", p_tool=tool_id))

    def tools(self, user: User | None, project_id: str) -> Sequence[Tool]:
        return [Tool(**row) for row in self._call(user, "list_tools", p_project=project_id)]

    def change_tool(
        self,
        user: User | None,
        tool_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Tool:
        return Tool(
            **self._call(user, "change_tool", p_tool=tool_id, p_name=name, p_description=description, p_enabled=enabled)
        )

    def reindex_tool(self, user: User | None, tool_id: str) -> Tool:
        return Tool(**self._call(user, "reindex_tool", p_tool=tool_id))

    def delete_tool(self, user: User | None, tool_id: str) -> None:
        self._call(user, "delete_tool", p_tool=tool_id)

    def create_endpoint(
        self, user: User | None, project_id: str, *, name: str, key_hash: str, tools: Sequence[str]
    ) -> Endpoint:
        return _endpoint(
            self._call(user, "create_mcp", p_project=project_id, p_name=name, p_key_hash=key_hash, p_tools=list(tools))
        )

    def endpoint(self, user: User | None, mcp_id: str) -> Endpoint:
        return _endpoint(self._call(user, "read_mcp", p_mcp=mcp_id))

    def endpoints(self, user: User | None, project_id: str) -> Sequence[Endpoint]:
        return [_endpoint(row) for row in self._call(user, "list_mcps", p_project=project_id)]

    def bind(self, user: User | None, mcp_id: str, tool_id: str, *, status: Switch) -> Endpoint:
        return _endpoint(self._call(user, "bind_tool", p_mcp=mcp_id, p_tool=tool_id, p_status=status))

    def unbind(self, user: User | None, mcp_id: str, tool_id: str) -> Endpoint:
        return _endpoint(self._call(user, "unbind_tool", p_mcp=mcp_id, p_tool=tool_id))

    def rotate(self, user: User | None, mcp_id: str, *, key_hash: str, overlap_seconds: int) -> Endpoint:
        return _endpoint(
            self._call(user, "rotate_mcp", p_mcp=mcp_id, p_key_hash=key_hash, p_overlap_seconds=overlap_seconds)
        )

    def change_endpoint(
        self, user: User | None, mcp_id: str, *, name: str | None = None, status: Switch | None = None
    ) -> Endpoint:
        return _endpoint(self._call(user, "change_mcp", p_mcp=mcp_id, p_name=name, p_status=status))

    def delete_endpoint(self, user: User | None, mcp_id: str) -> None:
        self._call(user, "delete_mcp", p_mcp=mcp_id)

    def changed_elsewhere(self, event: EventName, *, project_id: str, table_id: str, tool_id: str | None) -> None:
        there = answer(self.client.table("context_table").select("id").eq("id", table_id))
        if there:
            self._own("table_changed", p_table=table_id, p_event=event, p_tool=tool_id)
        elif event == "TableDeleted":
            row = {"event": event, "project_id": project_id, "table_id": table_id}
            answer(self.client.table("outbox").insert(row))

    def _call(self, user: User | None, function: str, **arguments: Any) -> Any:
        if user is None:
            return self._own(function, **arguments)
        return call_as_member(self.acting(user.token), function, arguments)

    def _own(self, function: str, **arguments: Any) -> Any:
        return call(self.client, function, arguments)


def _endpoint(row: dict[str, Any]) -> Endpoint:
    return Endpoint(**{**row, "tools": tuple(BoundTool(**tool) for tool in row["tools"])})
