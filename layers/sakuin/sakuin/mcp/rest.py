"""Searches over REST: the answers of MCP's tools, for programs that speak plain HTTP."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sakuin.arguments import sentence
from sakuin.errors import Invalid
from sakuin.mcp.answers import Answer
from sakuin.mcp.knowledge_tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from sakuin.tables.model import Endpoint

PATH = "/mcp"
# The library without a key, if `PublicLibrary` is on.
PUBLIC_PATH = "/public/mcp"
_SEARCH = "/v1/search"
_TOOL_SEARCH = re.compile(r"/v1/mcps/([^/]+)/tools/([^/]+)/search")


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is for: the endpoint `mcp_id`, over REST one Tool of it; the pages if it is None.

    `is_public`: the pages, for callers without a key.
    """

    mcp_id: str | None = None
    tool_id: str | None = None
    is_rest: bool = False
    is_public: bool = False


def target_of(path: str) -> Target:
    """Returns the target of a path."""
    path = path.rstrip("/")
    if path in (PATH, _SEARCH, PUBLIC_PATH):
        return Target(is_rest=path == _SEARCH, is_public=path == PUBLIC_PATH)
    match = _TOOL_SEARCH.fullmatch(path)
    return Target(match[1], match[2], is_rest=True) if match else Target(path.removeprefix(f"{PATH}/"))


@dataclass(frozen=True, slots=True)
class RestSearch:
    """Answers searches of pages and of Search Tools."""

    knowledge: KnowledgeTools
    tools: SearchTools

    def __call__(self, target: Target, endpoint: Endpoint | None, arguments: Any, folder: str = "") -> bytes:
        """Returns the JSON of the answer. `endpoint` is that of the target; raises the errors of the search.

        `folder` is the only one of the pages that the caller may search, if it is not empty.
        """
        if endpoint is None or target.tool_id is None:
            return _answer(self.knowledge.within(folder).search, arguments)
        tool_id = target.tool_id
        return _answer(lambda checked: self.tools.search(endpoint, tool_id, checked), arguments)


def _answer(search: Callable[[dict[str, Any]], Answer], arguments: Any) -> bytes:
    if not isinstance(arguments, dict):
        raise Invalid('Send a JSON object: {"query": …}')
    try:
        result = search(arguments)
    except ValidationError as error:
        raise sentence(error) from error
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
