"""The servers of the MCP SDK for one request: its caller's tools of the library, or the Search Tools of an endpoint."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp import MCPError
from mcp.server import CacheHint, Server
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
)

from sakuin import __version__
from sakuin.errors import NotFound
from sakuin.mcp.callers import Caller
from sakuin.mcp.knowledge.reading import write_learns
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import INSTRUCTIONS, SearchTools
from sakuin.platform.asgi import request_id_of

# Their answers have the instructions.
_HANDSHAKES = ("initialize", "server/discover")
_TOOLS_TTL_MS = 60_000
# The Tools of an endpoint may change at any time, and an unbound Tool must not be listed.
_BOUND_TOOLS_TTL_MS = 0
_DISCOVER_TTL_MS = 3_600_000
_WRITE_LEARNS = Prompt(
    name="write_learns",
    title="Write learns for a page",
    description="What readers can do after each section of a page: write learns.yml, check it, push it.",
    arguments=[PromptArgument(name="page", description="A material, or the link of a page.", required=True)],
)

T = TypeVar("T")

logger = logging.getLogger(__name__)


def knowledge_server(tools: KnowledgeTools, caller: Caller, method: str) -> Server[Any]:
    """Returns the server of the library that answers a method for a caller."""
    visible = tools.within(caller.fixed)
    instructions = visible.instructions() if method in _HANDSHAKES else ""
    names = ("sakuin", "Sakuin")
    # Whoever has no key writes no pages.
    learns = None if caller.is_public else partial(write_learns, visible.read)
    return _server(names, instructions, visible.listed, visible.call, tools.input_schema, _TOOLS_TTL_MS, learns)


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
    learns: Callable[[str], str] | None = None,
) -> Server[Any]:
    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=await _in_thread(context, listed), ttl_ms=ttl_ms, cache_scope="private")

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        result = await _in_thread(context, partial(call, params.name, params.arguments))
        if result is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:64]}")
        return result

    async def list_prompts(_context: Any, _params: Any) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_WRITE_LEARNS], ttl_ms=ttl_ms, cache_scope="private")

    async def get_prompt(context: Any, params: GetPromptRequestParams) -> GetPromptResult:
        page = (params.arguments or {}).get("page", "")
        if learns is None or params.name != _WRITE_LEARNS.name:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name[:64]}")
        text = TextContent(type="text", text=await _in_thread(context, partial(_found, learns, page)))
        return GetPromptResult(messages=[PromptMessage(role="user", content=text)])

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
        on_list_prompts=list_prompts if learns else None,
        on_get_prompt=get_prompt if learns else None,
        cache_hints={"server/discover": CacheHint(ttl_ms=_DISCOVER_TTL_MS, scope="private")},
    )


def _found(learns: Callable[[str], str], page: str) -> str:
    """Returns the prompt for a page. Raises the protocol's error if there is no such page."""
    try:
        return learns(page)
    except NotFound as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error


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
