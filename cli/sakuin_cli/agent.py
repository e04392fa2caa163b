"""A client of MCP endpoints: its answers are those that an agent gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from sakuin.errors import Invalid, Misconfigured, Unavailable

from sakuin_cli.rest import TIMEOUT

# This revision needs no handshake: one request is a whole conversation. The SDK takes a second to import.
_REVISION = "2025-06-18"


@dataclass(frozen=True, slots=True)
class AgentClient:
    """One MCP endpoint; `url` ends with `/mcp` or `/mcp/<id>`."""

    url: str
    key: str = field(repr=False)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        """Calls a tool and returns its structured answer; arguments that are None are not sent.

        An error of the tool is `Invalid` with the tool's message.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._result("tools/call", name=tool, arguments=given)
        if result.get("isError"):
            text = "\n".join(item["text"] for item in result["content"] if item["type"] == "text")
            raise Invalid(text or f"{tool} failed without a message")
        answer = result.get("structuredContent")
        if not isinstance(answer, dict):
            raise Invalid(f"{tool} returned no structured answer")
        return answer

    def searches(self) -> list[str]:
        """Returns the names of the tools that take a `query`."""
        tools = self._result("tools/list")["tools"]
        return [tool["name"] for tool in tools if "query" in tool["inputSchema"].get("properties", {})]

    def _result(self, method: str, **params: Any) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _REVISION,
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            response = httpx.post(self.url, headers=headers, json=message, timeout=TIMEOUT)
        except httpx.TransportError as error:
            raise Unavailable(
                f"Sakuin does not answer at {self.url}. Start it with `sakuin up`, or correct SAKUIN_URL"
            ) from error
        if response.status_code in (401, 403):
            raise Misconfigured("The key is not valid. Correct SAKUIN_API_KEY; `sakuin up` writes it to its env file")
        if response.status_code in (404, 405):
            raise Misconfigured(f"There is no MCP endpoint at {self.url}. Correct SAKUIN_URL")
        if response.status_code >= 500:
            raise Unavailable(f"Sakuin could not answer ({response.status_code}). Try again in a moment")
        try:
            answer = response.json()
            if "error" in answer:
                raise Invalid(str(answer["error"]["message"]))
            result: dict[str, Any] = answer["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise Misconfigured(f"The server at {self.url} is not Sakuin. Correct SAKUIN_URL") from error
        return result
