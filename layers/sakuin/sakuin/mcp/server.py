"""The servers of the MCP SDK: one for the knowledge tools, one for Search Tools."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult

from sakuin.mcp.changes.event_types import EventTypes
from sakuin.mcp.changes.events import WebhookMethods, add_events, change_handshake
from sakuin.mcp.changes.subscriptions import Caller
from sakuin.mcp.knowledge.schemas import INSTRUCTIONS
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.resources.methods import add_resources
from sakuin.mcp.resources.pages import Resources
from sakuin.mcp.search_tools import INSTRUCTIONS as SEARCH_INSTRUCTIONS
from sakuin.mcp.search_tools import SearchTools
from sakuin.tables.model import Endpoint

# The keys of a request's endpoint, of the folder of its caller, and of the caller for events, in its scope.
ENDPOINT = "sakuin.endpoint"
FOLDER = "sakuin.folder"
CALLER = "sakuin.caller"
_TOOLS_TTL_MS = 60_000
# The Tools of an endpoint may change at any time, and an unbound Tool must not be listed.
_BOUND_TOOLS_TTL_MS = 0
_DISCOVER_TTL_MS = 3_600_000

CallTool = Callable[[Any, CallToolRequestParams], Awaitable[CallToolResult]]
ListTools = Callable[[Any, Any], Awaitable[ListToolsResult]]


def knowledge_server(
    tools: KnowledgeTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of the knowledge endpoint, with `events` if there are any."""

    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        listing = await anyio.to_thread.run_sync(_own(tools, context).listed)
        return ListToolsResult(tools=listing, ttl_ms=_TOOLS_TTL_MS, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        own = _own(tools, context)
        return _known(await anyio.to_thread.run_sync(own.call, params.name, params.arguments), params.name)

    async def instruct(context: Any, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"instructions": await anyio.to_thread.run_sync(_own(tools, context).instructions)}

    server = _server(("sakuin", "Sakuin"), version, INSTRUCTIONS, list_tools, call_tool, tools.input_schema)
    add_resources(server, lambda context: Resources(tools.within(context.request.scope[FOLDER])))
    change_handshake(server, instruct)
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def search_tools_server(
    tools: SearchTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of Search Tools, which lists those of a request's endpoint, with `events` if there are any."""

    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        listing = await anyio.to_thread.run_sync(tools.listed, _endpoint(context))
        return ListToolsResult(tools=listing, ttl_ms=_BOUND_TOOLS_TTL_MS, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        result = await anyio.to_thread.run_sync(tools.call, _endpoint(context), params.name, params.arguments)
        return _known(result, params.name)

    names = ("sakuin-search-tools", "Sakuin Search Tools")
    server = _server(names, version, SEARCH_INSTRUCTIONS, list_tools, call_tool, tools.input_schema)
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def _server(
    names: tuple[str, str],
    version: str,
    instructions: str,
    list_tools: ListTools,
    call_tool: CallTool,
    input_schema: Callable[[str], dict[str, Any] | None],
) -> Server[Any]:
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


def _own(tools: KnowledgeTools, context: Any) -> KnowledgeTools:
    """Returns the tools of a caller. Nobody without a key counts anything."""
    caller = _caller(context)
    own = tools.within(caller.folder)
    return own if caller.principal else replace(own, has_feedback_tool=False)


def _known(result: CallToolResult | None, name: str) -> CallToolResult:
    if result is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name[:64]}")
    return result


def _endpoint(context: Any) -> Endpoint:
    found: Endpoint = context.request.scope[ENDPOINT]
    return found


def _caller(context: Any) -> Caller:
    found: Caller = context.request.scope[CALLER]
    return found
