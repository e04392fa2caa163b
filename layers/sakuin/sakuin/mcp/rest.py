"""The tools of the library, searches with Search Tools and the change feed over REST, for programs of plain HTTP."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError

from sakuin.arguments import ChangesArguments, sentence
from sakuin.errors import Invalid
from sakuin.mcp.answers import Answer
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.resources.documents import ENDPOINT as PUBLIC_PATH
from sakuin.mcp.resources.documents import is_document
from sakuin.mcp.search_tools import SearchTools
from sakuin.tables.model import Endpoint

PATH = "/mcp"
# Paths of the library, and the tools that answer there.
_TOOLS = {
    "/v1/search": "search_knowledge",
    "/v1/read": "read_page",
    "/v1/find": "find_text",
    "/v1/feedback": "give_feedback",
}
_CHANGES = re.compile(r"/v1/(?:mcps/([^/]+)/)?changes")
_TOOL_SEARCH = re.compile(r"/v1/mcps/([^/]+)/tools/([^/]+)/search")


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is for: the endpoint `mcp_id`, over REST one Tool of it; the pages if it is None.

    `is_public`: the pages, for callers without a key. `is_feed`: what changed there. `tool`: of the pages, over REST.
    `document` is the path of a document about the public library.
    """

    mcp_id: str | None = None
    tool_id: str | None = None
    is_rest: bool = False
    is_public: bool = False
    is_feed: bool = False
    tool: str = ""
    document: str = ""

    @property
    def method(self) -> str:
        """Returns the only method that the target has."""
        return "GET" if self.is_feed or self.document else "POST"


def target_of(path: str) -> Target:
    """Returns the target of a path."""
    if is_document(path):
        return Target(is_rest=True, is_public=True, document=path)
    path = path.rstrip("/")
    if path in (PATH, PUBLIC_PATH):
        return Target(is_public=path == PUBLIC_PATH)
    if path in _TOOLS:
        return Target(is_rest=True, tool=_TOOLS[path])
    if match := _CHANGES.fullmatch(path):
        return Target(match[1], is_rest=True, is_feed=True)
    match = _TOOL_SEARCH.fullmatch(path)
    return Target(match[1], match[2], is_rest=True) if match else Target(path.removeprefix(f"{PATH}/"))


@dataclass(frozen=True, slots=True)
class RestSearch:
    """Answers for the tools of the library, for Search Tools, and what changed."""

    knowledge: KnowledgeTools
    tools: SearchTools
    changes: ChangeFeed

    def __call__(self, target: Target, endpoint: Endpoint | None, arguments: Any, folder: str = "") -> bytes:
        """Returns the JSON of the answer. `endpoint` is that of the target; raises the errors of the search.

        `folder` is the only one of the pages that the caller may read, if it is not empty.
        """
        if target.is_feed:
            feed = self.changes.within(folder)
            return _answer(lambda asked: feed(endpoint, ChangesArguments.model_validate(asked)), arguments)
        if endpoint is None or target.tool_id is None:
            return _answer(partial(self.knowledge.within(folder).answer, target.tool), arguments)
        tool_id = target.tool_id
        return _answer(lambda checked: self.tools.search(endpoint, tool_id, checked), arguments)


def parameters_of(query: bytes) -> dict[str, Any]:
    """Returns the parameters of a query string: `kind` as a list, each other once. Raises `Invalid` for others."""
    try:
        values = parse_qs(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError as error:
        raise Invalid("The query string cannot be read: send at most 20 parameters, percent-encoded") from error
    if repeated := sorted(name for name, several in values.items() if len(several) > 1 and name != "kind"):
        raise Invalid(f"Send {repeated[0][:64]!r} once")
    return {name: several if name == "kind" else several[0] for name, several in values.items()}


def _answer(search: Callable[[dict[str, Any]], Answer], arguments: Any) -> bytes:
    if not isinstance(arguments, dict):
        raise Invalid("Send a JSON object with the arguments")
    try:
        result = search(arguments)
    except ValidationError as error:
        raise sentence(error) from error
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
