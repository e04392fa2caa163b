"""A client of MCP endpoints over the published SDK: its answers are those that an agent gets."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from sakuin.errors import Invalid, Misconfigured, SakuinError, Unavailable

from sakuin_cli.rest import no_answer

_Answer = TypeVar("_Answer")

_TIMEOUT = httpx2.Timeout(35.0, connect=5.0)


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
        return _answer(tool, anyio.run(self._within, lambda client: client.call_tool(tool, given)))

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
        listed = anyio.run(self._within, lambda client: client.list_tools())
        return [tool.name for tool in listed.tools if "query" in tool.input_schema.get("properties", {})]

    async def _within(self, ask: Callable[[Client], Awaitable[_Answer]]) -> _Answer:
        # The transport logs the errors that it raises.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        statuses: list[int] = []

        async def remember(response: httpx2.Response) -> None:
            # The SDK reports a rejected request as a failed handshake; only the status gives the reason.
            statuses.append(response.status_code)

        try:
            async with (
                httpx2.AsyncClient(
                    headers={"Authorization": f"Bearer {self.key}"},
                    timeout=_TIMEOUT,
                    event_hooks={"response": [remember]},
                ) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                return await ask(client)
        # The SDK's task groups wrap errors.
        except* (MCPError, httpx2.HTTPError, OSError, TimeoutError) as errors:
            error = next(_leaves(errors))
            failure = self._error_of(error, statuses[-1] if statuses else None)
        raise failure

    def _error_of(self, error: BaseException, status: int | None) -> SakuinError:
        if status in (401, 403):
            return Misconfigured("The key is not valid. Correct SAKUIN_API_KEY; `sakuin up` writes it to its env file")
        if status in (404, 405):
            return Misconfigured(f"There is no MCP endpoint at {self.url}. Correct SAKUIN_URL")
        if status is not None and status >= 500:
            return Unavailable(f"Sakuin could not answer ({status}). Try again in a moment")
        if isinstance(error, MCPError):
            # The protocol's code for an unknown tool. Wrong arguments of a tool are an answer with `isError`.
            where = f". {self.url} does not have it: `sakuin mcp list` shows what has, `sakuin mcp bind` adds it"
            return Invalid(error.message + (where if error.code == INVALID_PARAMS else ""))
        return Unavailable(no_answer(self.url))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _answer(tool: str, result: CallToolResult) -> Mapping[str, Any]:
    text = "\n".join(item.text for item in result.content if isinstance(item, TextContent))
    if result.is_error:
        raise Invalid(text or f"{tool} failed without a message")
    if not isinstance(result.structured_content, dict):
        raise Invalid(f"{tool} returned no structured answer")
    return result.structured_content
