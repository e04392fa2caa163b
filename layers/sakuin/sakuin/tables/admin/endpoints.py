"""Administration of MCP endpoints and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.platform.keys import hash_of_key, new_key
from sakuin.tables.admin.checks import check_text
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import McpEndpoint, Switch, User

# The time to configure the new key in all agents.
OVERLAP_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class EndpointAdmin:
    """Creates and changes endpoints."""

    records: ProjectRecords

    def create(self, user: User | None, project_id: str, *, name: str, tools: Sequence[str]) -> tuple[McpEndpoint, str]:
        """Creates an endpoint with these Tools. Returns it with its key, of which only the hash is stored."""
        key = new_key()
        wanted = list(dict.fromkeys(tools))
        name, key_hash = check_text(name, "The name"), hash_of_key(key)
        return self.records.create_endpoint(user, project_id, name=name, key_hash=key_hash, tools=wanted), key

    def change(self, user: User | None, mcp_id: str, *, name: str | None, status: Switch | None) -> McpEndpoint:
        """Changes the name or status that is not None."""
        name = None if name is None else check_text(name, "The name")
        return self.records.change_endpoint(user, mcp_id, name=name, status=status)

    def rotate(
        self, user: User | None, mcp_id: str, *, overlap_seconds: int = OVERLAP_SECONDS
    ) -> tuple[McpEndpoint, str]:
        """Returns the endpoint with a new key. The old key stays valid for `overlap_seconds`."""
        key = new_key()
        return self.records.rotate(user, mcp_id, key_hash=hash_of_key(key), overlap_seconds=overlap_seconds), key

    def bind(self, user: User | None, mcp_id: str, tool_id: str, *, status: Switch = "enabled") -> McpEndpoint:
        """Binds a Tool, or changes the status of its binding."""
        return self.records.bind(user, mcp_id, tool_id, status=status)
