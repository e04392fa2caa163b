"""Readers of the change feed: what they know after some answers must be what the index has."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sakuin.arguments import ChangesArguments
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.tables.model import BoundTool, Endpoint

_INDEX = (
    b"select id, array_to_string(array[title, type, content_hash], '|') from knowledge_chunks"
    b" union all select material, error from material where status = 'failed'"
)
_TOOLS = (
    b"select id::text, project_id::text, table_id::text, json_path, name, description, metadata->'search_index'"
    b" from tool where enabled and project_id::text = %s"
)


def indexed(sql: psycopg.Connection) -> dict[str, str]:
    """What the library has: a mark of each explanation, the reason of each failed page."""
    return dict(sql.execute(_INDEX).fetchall())


def endpoint_of(sql: psycopg.Connection, project: str) -> Endpoint:
    """An endpoint with all Tools of a project that are enabled."""
    rows = sql.execute(_TOOLS, [project]).fetchall()
    return Endpoint("", project, tuple(BoundTool(*row) for row in rows))


def settled(endpoint: Endpoint) -> dict[str, str]:
    """What its ready and failed Tools are, by id."""
    kinds = {"ready": "tool.ready", "error": "tool.failed"}
    found = ((tool.id, tool.index) for tool in endpoint.tools)
    return {id: f"{kinds[index['state']]} {index['generation']}" for id, index in found if index["state"] in kinds}


@dataclass
class Follower:
    """Reads the feed, `limit` changes at a time, and keeps what it was told."""

    feed: ChangeFeed
    endpoint: Endpoint | None = None
    limit: int = 2
    cursor: str | None = None
    known: dict[str, str] = field(default_factory=dict)

    def read(self) -> bool:
        """Reads one answer; returns whether there are more."""
        answer = self.feed(self.endpoint, ChangesArguments(since=self.cursor, limit=self.limit))
        self.cursor = answer["cursor"]
        for change in answer["changes"]:
            self._apply(change)
        return bool(answer["more"])

    def catch_up(self) -> dict[str, str]:
        """Reads all answers; returns what the reader knows then."""
        for _ in self._answers():
            pass
        return self.known

    def _answers(self) -> Iterator[None]:
        while self.read():
            yield

    def _apply(self, change: dict[str, Any]) -> None:
        match change["kind"]:
            case "explanation.added" | "explanation.changed" as kind:
                # Only what the reader has been told of can change.
                assert kind == "explanation.added" or change["id"] in self.known, change
                self.known[change["id"]] = "|".join((change["title"], change["type"], change["content_hash"]))
            case "explanation.moved" | "explanation.removed" | "page.recovered":
                self.known.pop(change["id"], None)
            case "page.failed":
                self.known[change["id"]] = change["reason"]
            case "tool.ready" | "tool.failed" as kind:
                self.known[change["id"]] = f"{kind} {change['generation']}"
