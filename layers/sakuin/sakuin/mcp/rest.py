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
from sakuin.mcp.callers import Caller
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.documents import ENDPOINT as PUBLIC_PATH
from sakuin.mcp.documents import Document, Documents, is_document
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.messages import questions_in
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.asgi import parsed_json

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
    """Answers for the tools of the library and Search Tools, with changes, and with documents of the public library."""

    knowledge: KnowledgeTools
    tools: SearchTools
    changes: ChangeFeed

    def __call__(
        self, target: Target, caller: Caller, body: bytes, query: bytes, address: str, take: Callable[[int], None]
    ) -> Document:
        """Returns the media type of the answer and its bytes; raises the errors of the search.

        `query` are the parameters of a GET; `address` is that of the deployment. `take` takes so many searches of the
        caller; it raises `OverLimit`.
        """
        take(1)
        if target.document:
            return Documents(self.knowledge)(target.document, parameters_of(query), address, partial(take, 1))
        arguments = parameters_of(query) if target.is_feed else parsed_json(body)
        if more := questions_in(arguments) - 1:
            take(more)
        return "application/json", _answer(self._search(target, caller), arguments)

    def _search(self, target: Target, caller: Caller) -> Callable[[dict[str, Any]], Answer]:
        endpoint, tool_id = caller.endpoint, target.tool_id
        if target.is_feed:
            feed = self.changes.within(caller.folder)
            return lambda asked: feed(endpoint, ChangesArguments.model_validate(asked))
        if endpoint is None or tool_id is None:
            return partial(self.knowledge.within(caller.folder).answer, target.tool)
        return partial(self.tools.search, endpoint, tool_id)


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
