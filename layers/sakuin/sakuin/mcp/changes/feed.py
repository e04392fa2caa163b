"""The change feed: what changed in the library, or in the Tools of an endpoint, since a cursor."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from sakuin.arguments import ChangeKind, ChangesArguments
from sakuin.errors import Gone, Invalid
from sakuin.knowledge.model import Filters
from sakuin.knowledge.names import split_chunk_id
from sakuin.mcp.answers import cursor_of, position_of
from sakuin.mcp.schemas import Schema, record
from sakuin.platform.supabase.client import Client, call
from sakuin.tables.model import Endpoint

# The library in the database.
_LIBRARY = ""
# Three numbers of SQL (`changes_since`), and the Tools that the reader may see.
_POSITION = re.compile("([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,18})-([0-9a-f]{16})")
# What an event of it has, too.
CHANGE = record(
    "A change.",
    {
        "id": "Of an explanation or a Tool; the name of a page; the question of a gap.",
        "generation": "Of the page, or of the Tool's Table. It grows with each change.",
        "title": "Of an explanation that is there.",
        "type": "rule, method, definition, example or tip.",
        "content_hash": "SHA-256 of its text.",
        "url": "Link to it, or to where its text is now.",
        "moved_to": "The id of the same text.",
        "answer": "The id of the explanation that answers.",
        "name": "Of a Tool.",
        "reason": "Why a page or a Tool failed.",
    },
)
_KIND = {"kind": {"enum": list(get_args(ChangeKind))}, "time": {"type": "string", "format": "date-time"}}
OUTPUT: Schema = {
    "type": "object",
    "required": ["changes", "cursor", "more"],
    "properties": {
        "changes": {"type": "array", "items": CHANGE | {"properties": {**_KIND, **CHANGE["properties"]}}},
        "cursor": {"type": "string", "description": "The `since` of the next request."},
        "more": {"type": "boolean", "description": "True: there are more now."},
    },
}
_BEGIN_AGAIN = "Begin again without 'since': the answers then have everything that is there now"


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """Reads the feed. `url` gives the link to an element of a page.

    With a `folder` it has the changes of the library in that folder alone.
    """

    client: Client
    url: Callable[[str, str], str]
    folder: str = ""

    def within(self, folder: str) -> "ChangeFeed":
        """Returns the feed of a caller who may read only this folder; the whole one if it is empty."""
        return replace(self, folder=folder) if folder else self

    def __call__(self, endpoint: Endpoint | None, asked: ChangesArguments) -> dict[str, Any]:
        """Returns {changes, cursor, more} of the endpoint's Tools, or with None of the library.

        Raises `Gone` for a cursor that is too old, or from before other Tools were bound to the endpoint.
        """
        return self.after(endpoint, asked.since, asked.kind, asked.limit)

    def after(
        self, endpoint: Endpoint | None, since: str | None, kinds: Sequence[str] | None, limit: int
    ) -> dict[str, Any]:
        """Returns the answer after a cursor (None: from the beginning), of some kinds or with None of all.

        With the limit 0 it has no changes, and its cursor is before those that come.
        """
        tools = None if endpoint is None else sorted(tool.id for tool in endpoint.tools)
        signed = (endpoint.id if endpoint else _LIBRARY, self.folder, *sorted(kinds or ()))
        arguments = {
            "p_owner": endpoint.project_id if endpoint else _LIBRARY,
            "p_cursor": None if since is None else _numbers(since, tools, signed),
            "p_kinds": kinds,
            "p_tools": tools,
            "p_limit": limit,
            "p_in": Filters(folder=self.folder).beginning,
        }
        answer = call(self.client, "changes_since", arguments)
        if answer is None:
            raise Gone(f"'since' is too old: what was removed after it is no longer recorded. {_BEGIN_AGAIN}")
        position = "-".join([*map(str, answer["cursor"]), _digest(tools)])
        changes = [self._change(row) for row in answer["changes"]]
        return {"changes": changes, "cursor": cursor_of(position, *signed), "more": answer["more"]}

    def _change(self, row: dict[str, Any]) -> dict[str, Any]:
        """Returns a change with the link to its explanation, or to where its text is now."""
        place = row.get("answer") or (row["id"] if "content_hash" in row else row.get("moved_to"))
        return row | ({"url": self.url(*split_chunk_id(place))} if place else {})


def last_read(cursor: str) -> int:
    """Returns the number of the last change before a cursor that an answer had."""
    match = _POSITION.fullmatch(cursor.partition(".")[2])
    return int(match[3]) if match else 0


def _numbers(cursor: str, tools: Sequence[str] | None, signed: tuple[str, ...]) -> list[int]:
    match = _POSITION.fullmatch(position_of(cursor, *signed, name="since"))
    if match is None:
        raise Invalid(f"'since' is not a cursor of this answer. {_BEGIN_AGAIN}")
    if match[4] != _digest(tools):
        raise Gone(f"The Tools of this endpoint are others now. {_BEGIN_AGAIN}")
    return [int(number) for number in match.groups()[:3]]


def _digest(tools: Sequence[str] | None) -> str:
    return hashlib.sha256(" ".join(tools or ()).encode()).hexdigest()[:16]
