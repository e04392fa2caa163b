"""What an agent would get."""

from collections.abc import Mapping
from dataclasses import dataclass

from sakuin_cli.ports import AgentEndpoint


@dataclass(frozen=True, slots=True)
class AskAsAgent:
    """Calls the endpoint's tools and gives their answers as they are."""

    endpoint: AgentEndpoint

    def search(self, tool: str, query: str, *, top_k: int, filters: Mapping[str, str | None]) -> Mapping[str, object]:
        """The answer of a tool that searches; filters that are None are not sent."""
        given = {name: value for name, value in filters.items() if value is not None}
        return self.endpoint.call(tool, {"query": query, "top_k": top_k, **given})

    def chunk(self, id: str) -> Mapping[str, object]:
        """One chunk in full. An id that is not there raises `Invalid` with the tool's sentence."""
        return self.endpoint.call("get_chunk_by_id", {"id": id})
