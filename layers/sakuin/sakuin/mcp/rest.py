"""The tools of the library and searches with Search Tools over REST, for programs of plain HTTP."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sakuin.arguments import sentence
from sakuin.errors import Invalid
from sakuin.mcp.admission import Admission
from sakuin.mcp.answers import Answer
from sakuin.mcp.callers import Caller
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.messages import questions_in
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.asgi import parsed_json, read_body

# Paths of the library, and the tools that answer there.
_TOOLS = {
    "/v1/search": "search_knowledge",
    "/v1/read": "read_page",
    "/v1/find": "find_text",
    "/v1/feedback": "give_feedback",
}
_TOOL_SEARCH = "/v1/mcps/{mcp_id}/tools/{tool_id}/search"
_PUBLIC_SEARCH = "/public/v1/search"

# Finds the caller of a request.
Find = Callable[[Request], Caller]
# Answers the arguments of a caller; the request has the parameters of the path.
Search = Callable[[Request, Caller, dict[str, Any]], Answer]


def rest_routes(
    admission: Admission, knowledge: KnowledgeTools, public: KnowledgeTools, search_tools: SearchTools
) -> Iterator[Route]:
    """Yields the routes, with the keys and the rate limits of MCP. `public` answer callers without a key."""

    def of_key(request: Request) -> Caller:
        return admission.caller(request.headers, request.path_params.get("mcp_id"))

    def ask_library(
        tools: KnowledgeTools, tool: str, _request: Request, caller: Caller, arguments: dict[str, Any]
    ) -> Answer:
        return tools.within(caller.fixed).answer(tool, arguments)

    def ask_tool(request: Request, caller: Caller, arguments: dict[str, Any]) -> Answer:
        return search_tools.search(caller.search_endpoint, request.path_params["tool_id"], arguments)

    for path, tool in _TOOLS.items():
        yield Route(path, _endpoint(admission, of_key, partial(ask_library, knowledge, tool)), methods=["POST"])
    yield Route(_TOOL_SEARCH, _endpoint(admission, of_key, ask_tool), methods=["POST"])
    search = partial(ask_library, public, _TOOLS["/v1/search"])
    yield Route(_PUBLIC_SEARCH, _endpoint(admission, lambda _: admission.public_caller(), search), methods=["POST"])


def _endpoint(admission: Admission, find: Find, search: Search) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        body = await read_body(request.receive, max_bytes=admission.longest_body)

        def answer() -> bytes:
            caller = admission.enter(find(request), body)
            admission.take(caller, 1)
            arguments = parsed_json(body or b"")
            admission.take(caller, questions_in(arguments) - 1)
            return _answer(partial(search, request, caller), arguments)

        return Response(await anyio.to_thread.run_sync(answer), media_type="application/json")

    return endpoint


def _answer(search: Callable[[dict[str, Any]], Answer], arguments: Any) -> bytes:
    if not isinstance(arguments, dict):
        raise Invalid("Send a JSON object with the arguments")
    try:
        result = search(arguments)
    except ValidationError as error:
        raise sentence(error) from error
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
