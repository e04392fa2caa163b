"""The functions in Postgres for projects, Tables, Tools and endpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sakuin.errors import Invalid
from sakuin.language.synonyms import Group, stored_groups
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.supabase.client import Client, call
from sakuin.retrieval.filters import fixed_filter, readable
from sakuin.retrieval.index_version import ANALYZER
from sakuin.tables.entries import NO_ENTRIES, EntryRules, valid_rules
from sakuin.tables.model import (
    Binding,
    McpEndpoint,
    Member,
    PendingUpload,
    Project,
    Role,
    StoredTable,
    Switch,
    Table,
    Tool,
    User,
)
from sakuin.tables.scan import problem_of
from sakuin.texts.catalogue import code_of, coded, restored, stored


def count_request(client: Client, principal: str) -> None:
    """Takes a request from the minute of a user, or of a key by its hash; `OverLimit` if none is left.

    It is a transaction of its own, before the request: what fails afterwards counts, too.
    """
    quota = {"p_name": "requests_per_minute", "p_seconds": 60}
    call(client, "take_quota", {"p_principal": principal, "p_amount": 1, **quota})


@dataclass(frozen=True, slots=True)
class ProjectRecords:
    """Projects, Tables, Tools and endpoints. Each change is one transaction and writes its own events.

    `user` is a member of the project, whom row level security binds; None is an admin or a worker. A record that does
    not exist, or that the user may not see, raises `NotFound`; a change that the user's role does not allow raises
    `Forbidden`. SQL functions contain the rules.
    """

    client: Client

    def create_project(self, user: User | None, name: str) -> Project:
        """Creates a project, of which `user` becomes the owner."""
        return Project(**self._call(user, "create_project", p_name=name))

    def projects(self, user: User | None) -> Sequence[Project]:
        """Accepts the user's invitations; returns the projects of the user, or all for an admin, oldest first."""
        return [Project(**row) for row in self._call(user, "list_projects")]

    def delete_project(self, user: User | None, project_id: str) -> None:
        """Deletes a project with its Tables, Tools and endpoints."""
        self._call(user, "delete_project", p_project=project_id)

    def add_member(self, user: User | None, project_id: str, member: str, role: Role | None = None) -> None:
        """Makes a user a member with a role, or gives a member this role. Idempotent.

        None: a new member becomes a viewer, others keep their role. Raises `Conflict` for the last owner.
        """
        self._call(user, "add_member", p_project=project_id, p_member=member, p_role=role)

    def invite_member(self, user: User | None, project_id: str, email: str, role: Role | None = None) -> None:
        """Invites an address; its person is a member, by default a viewer, when `projects` is called for them next.

        The same happens whether an account has the address or not.
        """
        self._call(user, "invite_member", p_project=project_id, p_email=email, p_role=role)

    def members(self, user: User | None, project_id: str) -> Sequence[Member]:
        """Returns the members of a project, the oldest first."""
        return [Member(**row) for row in self._call(user, "list_members", p_project=project_id, p_emails=True)]

    def remove_member(self, user: User | None, project_id: str, member: str) -> None:
        """Removes a member. Raises `Conflict` for the last owner, `NotFound` for a user who is not a member."""
        self._call(user, "remove_member", p_project=project_id, p_member=member)

    def synonyms(self, user: User | None, project_id: str) -> Sequence[Group]:
        return [tuple(group) for group in self._call(user, "read_synonyms", p_project=project_id)]

    def replace_synonyms(self, user: User | None, project_id: str, groups: Sequence[Group]) -> None:
        """Replaces the synonyms of a project, from the next question on; no groups delete them."""
        arguments = {"p_groups": stored_groups(groups), "p_analyzer": ANALYZER}
        self._call(user, "replace_synonyms", p_project=project_id, **arguments)

    def create_table(
        self,
        user: User | None,
        project_id: str,
        *,
        name: str,
        data: str | None,
        chunk_threshold_chars: int | None,
        entries: EntryRules | None = None,
    ) -> Table:
        """Creates a Table with `data` (JSON text), version 1; or with None, version 0, for a later upload.

        `chunk_threshold_chars`: None for the default.
        """
        arguments = {
            "p_project": project_id,
            "p_name": name,
            "p_data": data,
            "p_chunk_threshold": chunk_threshold_chars,
            "p_entries": entries and asdict(entries),
        }
        return self._table(user, self._call(user, "create_table", **arguments))

    def table(self, user: User | None, table_id: str) -> Table:
        """Returns a Table without its document."""
        return self._table(user, self._call(user, "read_table", p_table=table_id, p_entries=True))

    def document(self, user: User | None, table_id: str) -> StoredTable:
        row = self._call(user, "read_document", p_table=table_id, p_entries=True)
        data, data_key = row.pop("data"), row.pop("data_key")
        return StoredTable(self._table(user, row), data, data_key)

    def tables(self, user: User | None, project_id: str) -> Sequence[Table]:
        rows = self._call(user, "list_tables", p_project=project_id, p_entries=True)
        return [self._table(user, row) for row in rows]

    def replace_table(self, user: User | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        """Replaces the document. Raises `Conflict` if the Table has another version than expected (None: any)."""
        arguments = {"p_table": table_id, "p_data": data, "p_expected_version": expected_version}
        return self._table(user, self._call(user, "replace_table", **arguments))

    def change_table(
        self,
        user: User | None,
        table_id: str,
        *,
        name: str | None,
        chunk_threshold_chars: int | None,
        entries: Mapping[str, Any] | None = None,
    ) -> Table:
        """Changes the fields that are not None. Another threshold, or other `entries` ({}: none), start a scan."""
        arguments = {"p_table": table_id, "p_name": name, "p_chunk_threshold": chunk_threshold_chars}
        return self._table(user, self._call(user, "change_table", **arguments, p_entries=entries))

    def delete_table(self, user: User | None, table_id: str) -> None:
        self._call(user, "delete_table", p_table=table_id)

    def begin_upload(self, user: User | None, table_id: str, *, size: int = 0) -> PendingUpload:
        """Announces an upload of `size` bytes. A later announcement, or a replaced document, makes it obsolete."""
        return PendingUpload(**self._call(user, "begin_upload", p_table=table_id, p_bytes=size))

    def finish_upload(
        self, table_id: str, upload: int, key: str | None, error: str | None, *, size: int | None = None
    ) -> bool:
        """Records an upload: its `key` and bytes, or the `error` why it is invalid. Returns False if it is obsolete."""
        arguments = {"p_table": table_id, "p_upload": upload, "p_key": key, "p_error": stored(error), "p_bytes": size}
        return bool(call(self.client, "finish_upload", arguments))

    def check_node(self, user: User | None, table_id: str, json_path: str) -> None:
        """Raises `Invalid` if the document of a Table has no node at this pointer. One in the bucket is not read."""
        self._call(user, "check_node", p_table=table_id, p_json_path=json_path)

    def create_tool(
        self, user: User | None, project_id: str, table_id: str, *, json_path: str, name: str, description: str | None
    ) -> Tool:
        """Creates a Search Tool, which is pending. None: a description that names its place."""
        place = {"p_project": project_id, "p_table": table_id, "p_json_path": json_path}
        return _tool(self._call(user, "create_tool", **place, p_name=name, p_description=description))

    def tool(self, user: User | None, tool_id: str) -> Tool:
        return _tool(self._call(user, "read_tool", p_tool=tool_id))

    def tools(self, user: User | None, project_id: str) -> Sequence[Tool]:
        return [_tool(row) for row in self._call(user, "list_tools", p_project=project_id)]

    def tools_of_projects(self, user: User | None, *, limit: int) -> Sequence[Tool]:
        """Returns the Tools of the first projects that the user sees."""
        return [_tool(row) for row in self._call(user, "list_tools", p_projects=limit)]

    def change_tool(
        self,
        user: User | None,
        tool_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Tool:
        """Changes the fields that are not None. Raises `Conflict` if an endpoint has another Tool of this name."""
        return _tool(
            self._call(user, "change_tool", p_tool=tool_id, p_name=name, p_description=description, p_enabled=enabled)
        )

    def reindex_tool(self, user: User | None, tool_id: str) -> Tool:
        """Makes a Tool pending again. Its scan also restores rows that the store has lost."""
        return _tool(self._call(user, "reindex_tool", p_tool=tool_id))

    def delete_tool(self, user: User | None, tool_id: str) -> None:
        self._call(user, "delete_tool", p_tool=tool_id)

    def create_endpoint(
        self,
        user: User | None,
        project_id: str,
        *,
        name: str,
        tools: Sequence[str],
        fixed: Mapping[str, Any] | None = None,
    ) -> tuple[McpEndpoint, str]:
        """Creates an MCP endpoint with these Tools. Returns it with its key, of which only the hash is stored.

        `fixed` is the filter of each Tool. Raises `Conflict` if two of the Tools have the same name.
        """
        key = new_key()
        filters: dict[str, Mapping[str, Any]] = {}
        if fixed:
            tables = {table.id: table for table in self.tables(user, project_id)}
            of_project = [tool for tool in self.tools(user, project_id) if tool.id in tools]
            filters = {tool.id: _fixed_filter(tool, tables[tool.table_id], fixed) for tool in of_project}
        arguments = {"p_project": project_id, "p_name": name, "p_key_hash": hash_of_key(key), "p_filters": filters}
        made = self._call(user, "create_mcp", **arguments, p_tools=list(dict.fromkeys(tools)))
        return self._endpoint(user, made), key

    def endpoint(self, user: User | None, mcp_id: str) -> McpEndpoint:
        """Returns an endpoint with its bindings, by the names of the Tools."""
        return self._endpoint(user, self._call(user, "read_mcp", p_mcp=mcp_id, p_filters=True))

    def endpoints(self, user: User | None, project_id: str) -> Sequence[McpEndpoint]:
        rows = self._call(user, "list_mcps", p_project=project_id, p_filters=True)
        return [self._endpoint(user, row) for row in rows]

    def bind(
        self,
        user: User | None,
        mcp_id: str,
        tool_id: str,
        *,
        status: Switch = "enabled",
        fixed: Mapping[str, Any] | None = None,
    ) -> McpEndpoint:
        """Binds a Tool of the same project, or changes the status. Raises `Conflict` if its name is in use.

        `fixed` has one value for each of some filter fields of the Table, which its entries must have; {}: no filter,
        None: the one it has.
        """
        if fixed:
            tool = self.tool(user, tool_id)
            fixed = _fixed_filter(tool, self.table(user, tool.table_id), fixed)
        arguments = {"p_mcp": mcp_id, "p_tool": tool_id, "p_status": status, "p_filter": fixed}
        return self._endpoint(user, self._call(user, "bind_tool", **arguments))

    def unbind(self, user: User | None, mcp_id: str, tool_id: str) -> McpEndpoint:
        """Removes a binding. Raises `NotFound` if there is none."""
        return self._endpoint(user, self._call(user, "unbind_tool", p_mcp=mcp_id, p_tool=tool_id))

    def rotate(self, user: User | None, mcp_id: str, *, overlap_seconds: int) -> tuple[McpEndpoint, str]:
        """Returns the endpoint with a new key. The old key stays valid for `overlap_seconds`."""
        key = new_key()
        arguments = {"p_mcp": mcp_id, "p_key_hash": hash_of_key(key), "p_overlap_seconds": overlap_seconds}
        return self._endpoint(user, self._call(user, "rotate_mcp", **arguments)), key

    def change_endpoint(
        self, user: User | None, mcp_id: str, *, name: str | None = None, status: Switch | None = None
    ) -> McpEndpoint:
        """Changes the name or status that is not None."""
        return self._endpoint(user, self._call(user, "change_mcp", p_mcp=mcp_id, p_name=name, p_status=status))

    def delete_endpoint(self, user: User | None, mcp_id: str) -> None:
        self._call(user, "delete_mcp", p_mcp=mcp_id)

    def _table(self, user: User | None, row: dict[str, Any]) -> Table:
        """Returns a Table; reads what its entries are if the answer to a change has not said it."""
        if "entries" not in row:
            row["entries"] = self._call(user, "read_table", p_table=row["id"], p_entries=True)["entries"]
        return Table(**row | {"import_error": restored(row["import_error"]), "entries": _rules(row["entries"])})

    def _endpoint(self, user: User | None, row: dict[str, Any]) -> McpEndpoint:
        """Returns an endpoint; reads its filters if the answer to a change has not said them."""
        if "filters" not in row:
            row["filters"] = self._call(user, "read_mcp", p_mcp=row["id"], p_filters=True)["filters"]
        filters = row.pop("filters") or {}
        return McpEndpoint(**row | {"tools": tuple(_binding(tool, filters) for tool in row["tools"])})

    def _call(self, user: User | None, function: str, **arguments: Any) -> Any:
        for name, value in arguments.items():
            # SQL, which checks everything else, would not see what Postgres cannot store. A document has it as escapes.
            if isinstance(value, str) and name != "p_data" and (problem := problem_of(value)):
                raise Invalid(coded("record.unstorable", name=name.removeprefix("p_"), problem=problem))
        return call(self.client, function, arguments, user_id=user.id if user else None)


def _fixed_filter(tool: Tool, table: Table, fixed: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return fixed_filter((table.entries or NO_ENTRIES).filter, fixed)
    except Invalid as error:
        raise Invalid(f"{tool.name}: {error}") from error


def _rules(stored: Any) -> EntryRules | None:
    return None if stored is None else valid_rules(stored)


def _tool(row: dict[str, Any]) -> Tool:
    index = restored(row["metadata"].get("search_index"))
    if isinstance(index, dict) and index.get("last_error"):
        index["last_error_code"] = code_of(index["last_error"])
    return Tool(**{**row, "metadata": row["metadata"] | ({"search_index": index} if index else {})})


def _binding(tool: dict[str, Any], filters: Mapping[str, Any]) -> Binding:
    of_entries = filters.get(tool["tool_id"], {})
    rules, fixed = _rules(of_entries.get("entries")), of_entries.get("filter") or {}
    kinds: Mapping[str, Any] = rules.filter if rules else {}
    return Binding(
        **tool, entries=rules, filter={name: readable(kinds.get(name, "string"), one) for name, (one,) in fixed.items()}
    )
