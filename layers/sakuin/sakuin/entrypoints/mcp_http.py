"""MCP over HTTP: one POST, one JSON answer, no sessions."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult

from sakuin.domain.bound_tools import Endpoint
from sakuin.domain.search_tool import SEARCH_INPUT_SCHEMA
from sakuin.entrypoints.authorization import CHALLENGE, KeyRing, is_authorized
from sakuin.entrypoints.mcp_search_tools import INSTRUCTIONS as SEARCH_INSTRUCTIONS
from sakuin.entrypoints.mcp_search_tools import SearchTools
from sakuin.entrypoints.mcp_tools import INSTRUCTIONS, KnowledgeTools

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Gives the enabled endpoint of an id, if there is one.
EndpointOf = Callable[[str], Endpoint | None]

PATH = "/mcp"
_ENDPOINT = "sakuin.endpoint"
_TOOLS_TTL_MS = 60_000
_DISCOVER_TTL_MS = 3_600_000


def knowledge_server(tools: KnowledgeTools, version: str) -> Server[Any]:
    """The protocol's side of the tools: every revision that the SDK speaks."""

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools.listed(), ttl_ms=_TOOLS_TTL_MS, cache_scope="private")

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        result = await anyio.to_thread.run_sync(tools.call, params.name, params.arguments)
        if result is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return result

    return Server(
        "sakuin",
        version=version,
        title="Sakuin",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Without it the SDK lists all tools before each call.
        get_tool_input_schema=tools.input_schema,
        cache_hints={"server/discover": CacheHint(ttl_ms=_DISCOVER_TTL_MS, scope="private")},
    )


def search_tools_server(tools: SearchTools, version: str) -> Server[Any]:
    """The protocol's side of the Search Tools: which there are depends on the endpoint that a request came to."""

    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools.listed(_endpoint(context)), ttl_ms=0, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        result = await anyio.to_thread.run_sync(tools.call, _endpoint(context), params.name, params.arguments)
        if result is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return result

    return Server(
        "sakuin-search-tools",
        version=version,
        title="Sakuin Search Tools",
        instructions=SEARCH_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # All of them take the same.
        get_tool_input_schema=lambda _name: SEARCH_INPUT_SCHEMA,
        cache_hints={"server/discover": CacheHint(ttl_ms=_DISCOVER_TTL_MS, scope="private")},
    )


def _endpoint(context: Any) -> Endpoint:
    found: Endpoint = context.request.scope[_ENDPOINT]
    return found


class McpApp:
    """The ASGI application: who may call what, then the SDK."""

    def __init__(
        self,
        server: Server[Any],
        keys: KeyRing,
        allowed_origins: tuple[str, ...] = (),
        *,
        tools_server: Server[Any] | None = None,
        endpoint: EndpointOf = lambda _mcp_id: None,
    ) -> None:
        self._keys = keys
        self._allowed_origins = allowed_origins
        self._endpoint = endpoint
        # The gateway in front decides which hosts there are; the origin is checked here.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self.sessions = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=security
        )
        self._tool_sessions = StreamableHTTPSessionManager(
            tools_server or Server("sakuin-search-tools"),
            json_response=True,
            stateless=True,
            security_settings=security,
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Both endpoints answer while this is held."""
        async with self.sessions.run(), self._tool_sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get("origin")
        if origin is not None and origin not in self._allowed_origins:
            await _answer(send, 403, "This origin may not call.")
        # The SDK would keep a GET open for ever.
        elif scope["method"] != "POST":
            await _answer(send, 405, "Only POST: this endpoint has no sessions and no streams.", {"Allow": "POST"})
        elif scope["path"].rstrip("/") == PATH:
            await self._knowledge(headers, scope, receive, send)
        else:
            await self._tools(headers, scope, receive, send)

    async def _knowledge(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        if is_authorized(headers, self._keys):
            await self.sessions.handle_request(scope, receive, send)
        else:
            await _refuse(send)

    async def _tools(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        """An endpoint of Search Tools; one that is not there is refused like a wrong key, so that nobody can guess."""
        mcp_id = scope["path"].removeprefix(f"{PATH}/").rstrip("/")
        endpoint = await anyio.to_thread.run_sync(self._endpoint, mcp_id)
        _, pepper = self._keys()
        if endpoint is not None and is_authorized(headers, lambda: (endpoint.key_hashes, pepper)):
            await self._tool_sessions.handle_request({**scope, _ENDPOINT: endpoint}, receive, send)
        else:
            await _refuse(send)


async def _refuse(send: Send) -> None:
    await _answer(send, 401, "Send Authorization: Bearer <key> with a key of this endpoint.", CHALLENGE)


async def _answer(send: Send, status: int, message: str, headers: dict[str, str] | None = None) -> None:
    sent = {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}
    encoded = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": message.encode()})
