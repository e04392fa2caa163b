"""How a deployment searches, over its REST API with an admin key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from sakuin.errors import Misconfigured

from sakuin_cli.client import answered


@dataclass(frozen=True, slots=True)
class RestExplanations:
    """`DeployedExplanations`. `client` is httpx's, with the deployment's address and key (`rest_client.connected`).

    `mcp_id` is the endpoint whose Search Tools can be named.
    """

    client: httpx.Client = field(repr=False)
    mcp_id: str = ""

    def explain(
        self,
        query: str,
        *,
        tool: str | None = None,
        expected: str | None = None,
        top_k: int = 5,
        depth: int = 10,
        filters: Mapping[str, str] | None = None,
        legs: str = "both",
        without: Sequence[str] = (),
        index: str | None = None,
    ) -> Mapping[str, Any]:
        if tool is not None and not self.mcp_id:
            raise Misconfigured(
                "SAKUIN_TOOLS_MCP_URL is not set: it names the endpoint of the Search Tool, "
                "for example SAKUIN_TOOLS_MCP_URL=https://…/mcp/<mcp id>"
            )
        body: dict[str, object] = {
            "query": query,
            "expected": expected,
            "top_k": top_k,
            "depth": depth,
            "filters": dict(filters or {}),
            "legs": legs,
            "without": list(without),
        }
        if index is not None:
            body["index"] = index
        if tool is not None:
            body |= {"tool": tool, "mcp_id": self.mcp_id}
        said: Mapping[str, Any] = answered(self.client, self.client.build_request("POST", "/v1/explain", json=body))
        return said
