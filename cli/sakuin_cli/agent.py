"""The deployed MCP endpoint, through the published client: what an agent gets, nothing less and nothing more."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from sakuin.errors import Invalid, Misconfigured, SakuinError, Unavailable

_TIMEOUT = httpx2.Timeout(35.0, connect=5.0)


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """An `AgentEndpoint`. `url` ends with `/mcp`."""

    url: str
    key: str = field(repr=False)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        # The transport logs what it also raises.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        return _answer(tool, anyio.run(self._called, tool, dict(arguments)))

    async def _called(self, tool: str, arguments: dict[str, object]) -> CallToolResult:
        statuses: list[int] = []

        async def remember(response: httpx2.Response) -> None:
            # The client turns a refusal into a failed handshake; why it was refused is said here only.
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
                return await client.call_tool(tool, arguments)
        # The client's task groups wrap what went wrong.
        except* (MCPError, httpx2.HTTPError, OSError, TimeoutError) as errors:
            failure = self._ours(next(_leaves(errors)), statuses[-1] if statuses else None)
        raise failure

    def _ours(self, error: BaseException, status: int | None) -> SakuinError:
        if status in (401, 403):
            return Misconfigured("The key does not fit. Correct SAKUIN_API_KEY; `sakuin up` writes it to its env file")
        if status in (404, 405):
            return Misconfigured(f"There is no MCP endpoint at {self.url}. Correct SAKUIN_URL")
        if status is not None and status >= 500:
            return Unavailable(f"Sakuin could not answer ({status}). Try again in a moment")
        if isinstance(error, MCPError):
            return Invalid(error.message)
        return Unavailable(f"Sakuin does not answer at {self.url}. Start it with `sakuin up`, or correct SAKUIN_URL")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _answer(tool: str, result: CallToolResult) -> Mapping[str, object]:
    text = "\n".join(item.text for item in result.content if isinstance(item, TextContent))
    if result.is_error:
        raise Invalid(text or f"{tool} failed and did not say why")
    if isinstance(result.structured_content, dict):
        return result.structured_content
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Invalid(f"{tool} gave no structured answer")
    return answer
