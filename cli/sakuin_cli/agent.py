"""A client of MCP endpoints. They keep no sessions: a request needs no handshake, and has one JSON answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from sakuin.errors import Invalid, Misconfigured, Unavailable

from sakuin_cli.rest import no_answer

REVISION = "2025-06-18"
# The protocol's code for an unknown tool. Wrong arguments of a tool are an answer with `isError`.
_INVALID_PARAMS = -32602


@dataclass(frozen=True, slots=True)
class AgentClient:
    """One MCP endpoint; `url` ends with `/mcp` or `/mcp/<id>`."""

    url: str
    key: str = field(repr=False)
    seconds: float = 35.0

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        """Calls a tool and returns its structured answer; arguments that are None are not sent.

        An error of the tool is `Invalid` with the tool's message.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._result("tools/call", {"name": tool, "arguments": given})
        if result.get("isError"):
            raise Invalid("\n".join(item["text"] for item in result["content"]) or f"{tool} failed without a message")
        answer = result.get("structuredContent")
        if not isinstance(answer, dict):
            raise Invalid(f"{tool} returned no structured answer")
        return answer

    def pages(self, tool: str, arguments: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
        """Calls a tool as `call` does, and again with each `next_cursor`; yields the answers."""
        cursor: str | None = None
        while True:
            answer = self.call(tool, {**arguments, "cursor": cursor})
            yield answer
            cursor = answer.get("next_cursor")
            if not cursor:
                return

    def searches(self) -> list[str]:
        """Returns the names of the tools that take a `query`."""
        tools = self._result("tools/list", {})["tools"]
        return [tool["name"] for tool in tools if "query" in tool["inputSchema"].get("properties", {})]

    def _result(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION}
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            headers["Authorization"] = f"Bearer {self.key}"
            answer = httpx.post(self.url, json=request, headers=headers, timeout=self.seconds)
            if answer.status_code in (401, 403):
                advice = "Correct SAKUIN_API_KEY; `sakuin up` writes it to its env file"
                raise Misconfigured(f"The key is not valid. {advice}")
            if answer.status_code >= 500:
                raise Unavailable(f"Sakuin could not answer ({answer.status_code}). Try again in a moment")
            body: dict[str, Any] = answer.json()
            if error := body.get("error"):
                where = f". {self.url} does not have it: `sakuin mcp list` shows what has, `sakuin mcp bind` adds it"
                raise Invalid(error["message"] + (where if error["code"] == _INVALID_PARAMS else ""))
            result: dict[str, Any] = body["result"]
        except httpx.TransportError as error:
            raise Unavailable(no_answer(self.url)) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Misconfigured(f"There is no MCP endpoint at {self.url}. Correct SAKUIN_URL") from error
        return result
