"""The servers of the MCP SDK: one for the knowledge tools, one for Search Tools."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult, Tool

from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.event_types import EventTypes
from sakuin.mcp.changes.events import WebhookMethods, add_events, change_handshake
from sakuin.mcp.knowledge.schemas import INSTRUCTIONS
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.resources import Resources, add_resources
from sakuin.mcp.search_tools import INSTRUCTIONS as SEARCH_INSTRUCTIONS
from sakuin.mcp.search_tools import SearchTools

if TYPE_CHECKING:
    from sakuin.tables.model import Endpoint

# The key of a request's caller in its scope.
CALLER = "sakuin.caller"
_TOOLS_TTL_MS = 60_000
# The Tools of an endpoint may change at any time, and an unbound Tool must not be listed.
_BOUND_TOOLS_TTL_MS = 0
_DISCOVER_TTL_MS = 3_600_000

# What `tools/list` and `tools/call` of a caller do.
Listed = Callable[[], list[Tool]]
Called = Callable[[str, dict[str, Any] | None], CallToolResult | None]


def knowledge_server(
    tools: KnowledgeTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of the knowledge endpoint, with `events` if there are any."""

    def own(caller: Caller) -> KnowledgeTools:
        """Returns the tools of a caller. Nobody without a key counts anything."""
        within = tools.within(caller.folder)
        return within if caller.principal else replace(within, has_feedback_tool=False)

    def methods(caller: Caller) -> tuple[Listed, Called]:
        return own(caller).listed, own(caller).call

    async def instruct(context: Any, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"instructions": await anyio.to_thread.run_sync(own(_caller(context)).instructions)}

    server = _server(("sakuin", "Sakuin"), version, INSTRUCTIONS, methods, tools.input_schema, _TOOLS_TTL_MS)
    add_resources(server, lambda context: Resources(tools.within(_caller(context).folder)))
    change_handshake(server, instruct)
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def search_tools_server(
    tools: SearchTools, version: str, events: EventTypes | None = None, webhooks: WebhookMethods | None = None
) -> Server[Any]:
    """Returns the server of Search Tools, which lists those of a request's endpoint, with `events` if there are any."""

    def methods(caller: Caller) -> tuple[Listed, Called]:
        endpoint = cast("Endpoint", caller.endpoint)
        return partial(tools.listed, endpoint), partial(tools.call, endpoint)

    names = ("sakuin-search-tools", "Sakuin Search Tools")
    server = _server(names, version, SEARCH_INSTRUCTIONS, methods, tools.input_schema, _BOUND_TOOLS_TTL_MS)
    if events is not None:
        add_events(server, events, _caller, webhooks)
    return server


def _server(
    names: tuple[str, str],
    version: str,
    instructions: str,
    methods: Callable[[Caller], tuple[Listed, Called]],
    input_schema: Callable[[str], dict[str, Any] | None],
    ttl_ms: int,
) -> Server[Any]:
    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        listed, _call = methods(_caller(context))
        return ListToolsResult(tools=await anyio.to_thread.run_sync(listed), ttl_ms=ttl_ms, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        _listed, call = methods(_caller(context))
        result = await anyio.to_thread.run_sync(call, params.name, params.arguments)
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
