"""The servers of the MCP SDK for one request: its caller's tools of the library, or the Search Tools of an endpoint."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult, Tool

from sakuin import __version__
from sakuin.mcp.callers import Caller
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import INSTRUCTIONS, SearchTools
from sakuin.platform.asgi import request_id_of

# Their answers have the instructions.
_HANDSHAKES = ("initialize", "server/discover")
_TOOLS_TTL_MS = 60_000
# The Tools of an endpoint may change at any time, and an unbound Tool must not be listed.
_BOUND_TOOLS_TTL_MS = 0
_DISCOVER_TTL_MS = 3_600_000

T = TypeVar("T")

logger = logging.getLogger(__name__)


def knowledge_server(tools: KnowledgeTools, caller: Caller, method: str) -> Server[Any]:
    """Returns the server of the library that answers a method for a caller."""
    visible = tools.within(caller.folder)
    instructions = visible.instructions() if method in _HANDSHAKES else ""
    names = ("sakuin", "Sakuin")
    return _server(names, instructions, visible.listed, visible.call, tools.input_schema, _TOOLS_TTL_MS)


def search_tools_server(tools: SearchTools, caller: Caller, _method: str) -> Server[Any]:
    """Returns the server of the Search Tools of a caller's endpoint."""
    names = ("sakuin-search-tools", "Sakuin Search Tools")
    listed, call = partial(tools.listed, caller.search_endpoint), partial(tools.call, caller.search_endpoint)
    return _server(names, INSTRUCTIONS, listed, call, tools.input_schema, _BOUND_TOOLS_TTL_MS)


def _server(
    names: tuple[str, str],
    instructions: str,
    listed: Callable[[], list[Tool]],
    call: Callable[[str, dict[str, Any] | None], CallToolResult | None],
    input_schema: Callable[[str], dict[str, Any] | None],
    ttl_ms: int,
) -> Server[Any]:
    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=await _in_thread(context, listed), ttl_ms=ttl_ms, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        result = await _in_thread(context, partial(call, params.name, params.arguments))
        if result is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:64]}")
        return result

    name, title = names
    return Server(
        name,
        version=__version__,
        title=title,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Without it the SDK lists all tools before each call.
        get_tool_input_schema=input_schema,
        cache_hints={"server/discover": CacheHint(ttl_ms=_DISCOVER_TTL_MS, scope="private")},
    )


async def _in_thread(context: Any, function: Callable[[], T]) -> T:
    """Calls a function in a thread. The text of its failure is logged and not sent, as the SDK would."""
    try:
        return await anyio.to_thread.run_sync(function)
    except MCPError:
        raise
    except Exception as error:
        logger.exception("a method of MCP failed")
        id = request_id_of(context.request.scope)
        raise MCPError(INTERNAL_ERROR, f"Internal error. The log has it under the request id {id}.") from error
