"""Creates, changes and deletes MCP endpoints and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sakuin.limits import Limits, check_limit
from sakuin.platform.keys import hash_of_key, new_key
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.projects import check_name
from sakuin.tables.model import McpEndpoint, Switch, User

# Agents that hold the old key get this long to be given the new one.
OVERLAP_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class EndpointAdmin:
    """What members and admins do with endpoints."""

    records: ProjectRecords
    limits: Limits = field(default_factory=Limits)

    def create(self, user: User | None, project_id: str, *, name: str, tools: Sequence[str]) -> tuple[McpEndpoint, str]:
        """A new endpoint with these Tools, and its key: only its hash is kept."""
        key = new_key()
        key_hash = hash_of_key(key)
        wanted = list(dict.fromkeys(tools))
        there = len(self.records.endpoints(user, project_id))
        check_limit(there, self.limits.endpoints, what="endpoints", limit="endpoints")
        self._check_tools(len(wanted))
        made = self.records.create_endpoint(user, project_id, name=check_name(name), key_hash=key_hash, tools=wanted)
        return made, key

    def all(self, user: User | None, project_id: str) -> Sequence[McpEndpoint]:
        """A project's endpoints."""
        return self.records.endpoints(user, project_id)

    def read(self, user: User | None, mcp_id: str) -> McpEndpoint:
        """An endpoint with its bindings."""
        return self.records.endpoint(user, mcp_id)

    def change(self, user: User | None, mcp_id: str, *, name: str | None, status: Switch | None) -> McpEndpoint:
        """Changes what is not None."""
        named = None if name is None else check_name(name)
        return self.records.change_endpoint(user, mcp_id, name=named, status=status)

    def rotate(
        self, user: User | None, mcp_id: str, *, overlap_seconds: int = OVERLAP_SECONDS
    ) -> tuple[McpEndpoint, str]:
        """Another key; the old one opens for a while longer."""
        key = new_key()
        key_hash = hash_of_key(key)
        return self.records.rotate(user, mcp_id, key_hash=key_hash, overlap_seconds=overlap_seconds), key

    def bind(self, user: User | None, mcp_id: str, tool_id: str, *, status: Switch = "enabled") -> McpEndpoint:
        """Binds a Tool, or switches its binding."""
        self._check_tools(len({each.tool_id for each in self.records.endpoint(user, mcp_id).tools} | {tool_id}))
        return self.records.bind(user, mcp_id, tool_id, status=status)

    def unbind(self, user: User | None, mcp_id: str, tool_id: str) -> McpEndpoint:
        """Removes a binding."""
        return self.records.unbind(user, mcp_id, tool_id)

    def delete(self, user: User | None, mcp_id: str) -> None:
        """Deletes an endpoint."""
        self.records.delete_endpoint(user, mcp_id)

    def _check_tools(self, bound: int) -> None:
        most = self.limits.endpoint_tools
        check_limit(0, most, what="tools of one endpoint", limit="endpoint_tools", more=bound)
