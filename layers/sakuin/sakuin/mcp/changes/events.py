"""Events of MCP (SEP-3415) that clients poll: the kinds of changes are the event types.

Rules are from the working group's document, https://github.com/modelcontextprotocol/experimental-ext-triggers-events
(docs/design-sketch-proposal.md at 082166f0), which SEP-3415 made an extension. Only `poll` is offered.
"""

import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
from mcp import MCPError
from mcp.server import Server
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, RequestParams
from pydantic import Field

from sakuin.errors import Gone, Invalid, SakuinError
from sakuin.mcp.changes.feed import CHANGE, ChangeFeed
from sakuin.tables.model import Endpoint

if TYPE_CHECKING:
    from mcp.server.context import ServerMiddleware

# "Error Codes" of the document.
_NOT_FOUND = -32011
_EXTENSION = "io.modelcontextprotocol/events"
_MOST_EVENTS = 50
_NEXT_POLL_MS = 30_000
_PAGES = {
    "explanation.added": "A page has a new explanation.",
    "explanation.changed": "The text or the description of an explanation changed.",
    "explanation.moved": "An explanation is gone, and its text has another id.",
    "explanation.removed": "An explanation is gone.",
    "page.failed": "The newest version of a page cannot be read; the last good one stays searchable.",
    "page.recovered": "A page that had failed is searchable again, or deleted.",
}
_TOOLS = {
    "tool.ready": "A search tool has indexed its present document.",
    "tool.failed": "The document of a search tool cannot be indexed.",
}
_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


class ListParams(RequestParams):
    """The parameters of `events/list`. There is one page, so that no cursor is right."""

    cursor: str | None = None


class PollParams(RequestParams):
    """The parameters of `events/poll`. `cursor` None: from now on."""

    name: str = Field(max_length=64)
    arguments: dict[str, Any] | None = None
    cursor: str | None = Field(default=None, max_length=2000)
    max_age_ms: int | None = Field(default=None, ge=0, le=10**12)
    max_events: int = Field(default=_MOST_EVENTS, ge=1)


@dataclass(frozen=True, slots=True)
class Events:
    """The event types of an endpoint, each with its description."""

    feed: ChangeFeed
    types: Mapping[str, str]

    def within(self, folder: str) -> "Events":
        """Returns the events of a caller who may read only this folder; all if it is empty."""
        return replace(self, feed=self.feed.within(folder))

    def listed(self, params: ListParams) -> dict[str, Any]:
        """Returns the event types."""
        if params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "There is one page of events. Leave 'cursor' out.")
        shared = {"delivery": ["poll"], "inputSchema": _NO_ARGUMENTS, "payloadSchema": CHANGE}
        return {"events": [{"name": name, "description": told, **shared} for name, told in self.types.items()]}

    def poll(self, endpoint: Endpoint | None, params: PollParams) -> dict[str, Any]:
        """Returns the events of a type after a cursor.

        `truncated`: some are left out, since the cursor was too old or they are older than `max_age_ms`.
        """
        if params.name not in self.types:
            known = ", ".join(self.types)
            raise MCPError(_NOT_FOUND, f"There is no event of this name. There are: {known}", {"kind": "event"})
        if params.arguments:
            raise MCPError(INVALID_PARAMS, "Events have no arguments here. Leave 'arguments' out.")
        kinds, limit = [params.name], min(params.max_events, _MOST_EVENTS)
        try:
            if params.cursor is None:
                return _result(self.feed.now(endpoint, kinds))
            answer = self.feed.after(endpoint, params.cursor, kinds, limit)
        except Gone:
            return _result(self.feed.now(endpoint, kinds), truncated=True)
        except Invalid as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        floor = None if params.max_age_ms is None else datetime.now(UTC) - timedelta(milliseconds=params.max_age_ms)
        young = [row for row in answer["changes"] if floor is None or datetime.fromisoformat(row["time"]) >= floor]
        return _result(answer | {"changes": young}, truncated=len(young) < len(answer["changes"]))


def page_events(feed: ChangeFeed) -> Events:
    """Returns the events of the library."""
    return Events(feed, _PAGES)


def tool_events(feed: ChangeFeed) -> Events:
    """Returns the events of an endpoint of Search Tools."""
    return Events(feed, _TOOLS)


def add_events(server: Server[Any], events: Events, caller_of: Callable[[Any], tuple[Endpoint | None, str]]) -> None:
    """Has a server announce and answer events. `caller_of` returns the endpoint and the folder of a request."""

    async def list_events(_context: Any, params: ListParams) -> dict[str, Any]:
        return events.listed(params)

    async def poll_events(context: Any, params: PollParams) -> dict[str, Any]:
        endpoint, folder = caller_of(context)
        try:
            return await anyio.to_thread.run_sync(events.within(folder).poll, endpoint, params)
        except SakuinError as error:
            raise MCPError(INTERNAL_ERROR, "The changes cannot be read now. Try again in a moment.") from error

    async def announced(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        answer = await call_next(context)
        if isinstance(answer, dict):
            # The SDK's own capabilities have no such member.
            answer = answer | {"capabilities": {**answer.get("capabilities", {}), "events": {"listChanged": False}}}
        return answer

    # The SDK calls it with these names. It stands in the way of no other request.
    def announce(ctx: Any, call_next: Callable[[Any], Coroutine[Any, Any, Any]]) -> Coroutine[Any, Any, Any]:
        return announced(ctx, call_next) if ctx.method in ("server/discover", "initialize") else call_next(ctx)

    server.extensions[_EXTENSION] = {"listChanged": False}
    server.middleware.append(cast("ServerMiddleware[Any]", announce))
    server.add_request_handler("events/list", ListParams, list_events)
    server.add_request_handler("events/poll", PollParams, poll_events)


def _result(answer: Mapping[str, Any], *, truncated: bool = False) -> dict[str, Any]:
    return {
        "events": [_event(row) for row in answer["changes"]],
        "cursor": answer["cursor"],
        "truncated": truncated,
        "hasMore": answer["more"],
        "nextPollMs": _NEXT_POLL_MS,
    }


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    data = {name: value for name, value in row.items() if name not in ("kind", "time")}
    # The same for the same change, whenever it is polled.
    change = repr((row["kind"], row["id"], row["generation"])).encode()
    id = hashlib.sha256(change).hexdigest()[:32]
    return {"eventId": id, "name": row["kind"], "timestamp": row["time"], "data": data}
