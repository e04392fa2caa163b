"""The servers of the MCP SDK: one for the knowledge tools, one for Search Tools."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult

from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.event_types import EventTypes
from sakuin.mcp.changes.events import WebhookMethods, add_events, change_handshake
from sakuin.mcp.knowledge.schemas import INSTRUCTIONS
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.resources import add_resources
from sakuin.mcp.search_tools import INSTRUCTIONS as SEARCH_INSTRUCTIONS
from sakuin.mcp.search_tools import SearchTools

# The key of a request's caller in its scope.
CALLER = "sakuin.caller"
_TOOLS_TTL_MS = 60_000
# The Tools of an endpoint may change at any time, and an unbound Tool must not be listed.
_BOUND_TOOLS_TTL_MS = 0
_DISCOVER_TTL_MS = 3_600_000

# `KnowledgeTools` or `SearchTools` for a caller, and the first arguments of their methods `listed` and `call`.
Own = tuple[Any, tuple[Any, ...]]


def knowledge_server(
    tools: KnowledgeTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of the knowledge endpoint, with `events` if there are any."""

    def own(caller: Caller) -> KnowledgeTools:
        """Returns the tools of a caller. Nobody without a key counts anything."""
        within = tools.within(caller.folder)
        return within if caller.principal else replace(within, has_feedback_tool=False)

    async def instruct(context: Any, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"instructions": await anyio.to_thread.run_sync(own(_caller(context)).instructions)}

    server = _server(
        ("sakuin", "Sakuin"), version, INSTRUCTIONS, lambda caller: (own(caller), ()), tools.input_schema, _TOOLS_TTL_MS
    )
    add_resources(server, lambda context: tools.within(_caller(context).folder))
    change_handshake(server, instruct)
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def search_tools_server(
    tools: SearchTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of Search Tools, which lists those of a request's endpoint, with `events` if there are any."""

    names = ("sakuin-search-tools", "Sakuin Search Tools")
    instructions, ttl_ms = SEARCH_INSTRUCTIONS, _BOUND_TOOLS_TTL_MS
    server = _server(
        names, version, instructions, lambda caller: (tools, (caller.endpoint,)), tools.input_schema, ttl_ms
    )
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def _server(
    names: tuple[str, str],
    version: str,
    instructions: str,
    own: Callable[[Caller], Own],
    input_schema: Callable[[str], dict[str, Any] | None],
    ttl_ms: int,
) -> Server[Any]:
    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        tools, first = own(_caller(context))
        listing = await anyio.to_thread.run_sync(tools.listed, *first)
        return ListToolsResult(tools=listing, ttl_ms=ttl_ms, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        tools, first = own(_caller(context))
        result: CallToolResult | None = await anyio.to_thread.run_sync(
            tools.call, *first, params.name, params.arguments
        )
        if result is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:64]}")
        return result

    name, title = names
    return Server(
        name,
        version=version,
        title=title,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Without it the SDK lists all tools before each call.
        get_tool_input_schema=input_schema,
        cache_hints={"server/discover": CacheHint(ttl_ms=_DISCOVER_TTL_MS, scope="private")},
    )


def _caller(context: Any) -> Caller:
    found: Caller = context.request.scope[CALLER]
    return found
