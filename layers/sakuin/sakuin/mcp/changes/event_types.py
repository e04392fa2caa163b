"""The types of events, and what happened of a type after a cursor: the same for polls and webhooks.

The kinds of changes are the types, written here: no page and no project can name one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sakuin.errors import Invalid, NotFound
from sakuin.knowledge.search import RankedMatches
from sakuin.mcp.changes import questions
from sakuin.mcp.changes.feed import CHANGE, ChangeFeed, last_read
from sakuin.mcp.changes.questions import StandingQuestions
from sakuin.tables.model import Endpoint

_PAGES = {
    "explanation.added": "A page has a new explanation.",
    "explanation.changed": "The text or the description of an explanation changed.",
    "explanation.moved": "An explanation is gone, and its text has another id.",
    "explanation.removed": "An explanation is gone.",
    "page.failed": "The newest version of a page cannot be read; the last good one stays searchable.",
    "page.recovered": "A page that had failed is searchable again, or deleted.",
    "gap.answered": "A question without an answer, which the operator watches, has one now.",
}
_TOOLS = {
    "tool.ready": "A search tool has indexed its present document.",
    "tool.failed": "The document of a search tool cannot be indexed.",
}
_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Happened:
    """Events in their order, and the cursor after them. `more`: there are more now.

    `position` is how far the feed was read, `ranked` what a standing question found if it was asked.
    """

    events: Sequence[Mapping[str, Any]]
    cursor: str
    more: bool
    position: int
    ranked: RankedMatches | None = None


@dataclass(frozen=True, slots=True)
class EventTypes:
    """The event types of an endpoint, each with its description."""

    feed: ChangeFeed
    types: Mapping[str, str]
    standing: StandingQuestions | None = None

    def within(self, folder: str) -> "EventTypes":
        """Returns the events of a caller who may read only this folder; all if it is empty."""
        return replace(self, feed=self.feed.within(folder))

    def listed(self, delivery: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """Returns the types as `events/list` shows them, with these modes of delivery."""
        listed = []
        for name, told in self.types.items():
            is_question = name in questions.TYPES
            listed.append(
                {
                    "name": name,
                    "description": told,
                    "delivery": delivery,
                    "inputSchema": questions.ARGUMENTS if is_question else _NO_ARGUMENTS,
                    "payloadSchema": questions.PAYLOAD if is_question else CHANGE,
                }
            )
        return listed

    def check(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Raises `NotFound` for a name of no event, and `Invalid` for arguments that it does not have."""
        if name not in self.types:
            raise NotFound(f"There is no event of this name. There are: {', '.join(self.types)}")
        if name in questions.TYPES:
            questions.check_question(arguments)
        elif arguments:
            raise Invalid("Events have no arguments here. Leave 'arguments' out")

    def matching(
        self, name: str, arguments: Mapping[str, Any], happened: Happened
    ) -> tuple[Mapping[str, Any] | None, str]:
        """Returns what changes are compared with, and a vector; None if each change is one for events of this name."""
        if self.standing is None or name not in questions.TYPES:
            return None, ""
        return self.standing.matching(arguments["question"], self.feed.folder, happened.ranked)

    def after(
        self, endpoint: Endpoint | None, name: str, arguments: Mapping[str, Any], cursor: str | None, limit: int
    ) -> Happened:
        """Returns at most `limit` events after a cursor; none without one, and the cursor of now.

        Raises `Gone` for a cursor that is too old, and `Invalid` for one of something else.
        """
        if self.standing is not None and name in questions.TYPES:
            asked, folder = arguments["question"], self.feed.folder
            events, after, position, ranked = self.standing.after(name, asked, cursor, folder)
            return Happened(events, after, False, position, ranked)
        answer = self.feed.after(endpoint, cursor, [name], 0 if cursor is None else limit)
        happened = [_event(row) for row in answer["changes"]]
        more = cursor is not None and answer["more"]
        return Happened(happened, answer["cursor"], more, last_read(answer["cursor"]))


def page_events(feed: ChangeFeed, asked: StandingQuestions | None = None) -> EventTypes:
    """Returns the events of the library, with those of standing questions if they are `asked`."""
    return EventTypes(feed, _PAGES | (questions.TYPES if asked else {}), asked)


def tool_events(feed: ChangeFeed) -> EventTypes:
    """Returns the events of an endpoint of Search Tools."""
    return EventTypes(feed, _TOOLS)


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    data = {name: value for name, value in row.items() if name not in ("kind", "time")}
    # The same for the same change, whenever it is told.
    change = repr((row["kind"], row["id"], row["generation"])).encode()
    id = hashlib.sha256(change).hexdigest()[:32]
    return {"eventId": id, "name": row["kind"], "timestamp": row["time"], "data": data}
