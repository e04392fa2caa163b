"""A Search Tool: its name, what it may be asked, and how far its index is."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sakuin.domain.table_walk import storable
from sakuin.errors import Conflict

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
TOP_K_MAX = 50
TOP_K_DEFAULT = 5
LAST_ERROR_LENGTH = 300

SEARCH_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for: a question, a phrase or words."},
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": TOP_K_MAX,
            "default": TOP_K_DEFAULT,
            "description": "How many results to return.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}

# pending   waits for a worker, at its present generation
# indexing  a worker walks, embeds and stores
# ready     everything in scope is searchable
# error     the last attempt failed; what was searchable before still is
SearchIndexState = Literal["pending", "indexing", "ready", "error"]


def tool_name_problem(name: str) -> str | None:
    """Why a Tool cannot have this name, as a sentence; None if it can."""
    # fullmatch: "$" alone lets a final line feed through.
    if TOOL_NAME.fullmatch(name):
        return None
    return f"{name[:80]!r} cannot name a tool. Use 1 to 64 letters (a-z, A-Z), digits, '_' and '-'."


@dataclass(frozen=True, slots=True)
class SkippedNode:
    """A large string that could not be indexed, and why."""

    json_pointer: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchIndexStatus:
    """`tool.metadata.search_index`. Times are aware; `indexed_at` is the last good one and outlives failures.

    A step that the present state does not allow raises `Conflict`: somebody newer was first.
    """

    state: SearchIndexState
    configured_at: datetime
    generation: int
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None
    indexed_at: datetime | None = None
    nodes_count: int = 0
    chunks_count: int = 0
    indexed_chunks_count: int = 0
    skipped_nodes: tuple[SkippedNode, ...] = ()
    last_error: str | None = None
    attempt: int = 0

    @classmethod
    def configured(cls, at: datetime, *, generation: int = 1) -> "SearchIndexStatus":
        """A new Tool's."""
        return cls("pending", at, generation)

    def reconfigured(self, at: datetime, *, generation: int) -> "SearchIndexStatus":
        """The Table, the scope or the fingerprint changed; allowed in every state, for a newer generation only."""
        if generation <= self.generation:
            raise Conflict(f"Generation {generation} is not newer than {self.generation}. Read the tool again.")
        return replace(self, state="pending", configured_at=at, generation=generation, attempt=0)

    def started(self, at: datetime) -> "SearchIndexStatus":
        """A worker took it, for the first time or after a failure or a crash."""
        self._allow("pending", "indexing", "error")
        return replace(self, state="indexing", started_at=at, heartbeat_at=at, attempt=self.attempt + 1)

    def progressed(
        self,
        at: datetime,
        *,
        nodes: int,
        chunks: int,
        indexed_chunks: int,
        skipped: tuple[SkippedNode, ...] = (),
    ) -> "SearchIndexStatus":
        """A sign of life, with what the rows say."""
        self._allow("indexing")
        return replace(
            self,
            heartbeat_at=at,
            nodes_count=nodes,
            chunks_count=chunks,
            indexed_chunks_count=indexed_chunks,
            skipped_nodes=skipped,
        )

    def completed(self, at: datetime) -> "SearchIndexStatus":
        """Everything is stored; the last error is forgotten."""
        self._allow("indexing")
        if self.indexed_chunks_count < self.chunks_count:
            raise Conflict(f"{self.chunks_count - self.indexed_chunks_count} chunks are not stored yet.")
        return replace(self, state="ready", heartbeat_at=at, indexed_at=at, last_error=None, attempt=0)

    def failed(self, at: datetime, reason: str) -> "SearchIndexStatus":
        """An attempt failed. `reason` is a sentence for people; only its first line is kept."""
        self._allow("pending", "indexing", "error")
        first = next(iter(storable(reason).strip().splitlines()), "") or "The reason is not known."
        return replace(self, state="error", heartbeat_at=at, last_error=first[:LAST_ERROR_LENGTH])

    def as_json(self) -> dict[str, Any]:
        """As it is stored and shown: ISO 8601 times, and no character that `jsonb` refuses."""
        return {
            "state": self.state,
            "configured_at": self.configured_at.isoformat(),
            "started_at": _iso(self.started_at),
            "heartbeat_at": _iso(self.heartbeat_at),
            "indexed_at": _iso(self.indexed_at),
            "nodes_count": self.nodes_count,
            "chunks_count": self.chunks_count,
            "indexed_chunks_count": self.indexed_chunks_count,
            "skipped_nodes": [
                {"json_pointer": storable(node.json_pointer), "reason": storable(node.reason)}
                for node in self.skipped_nodes
            ],
            "last_error": self.last_error,
            "attempt": self.attempt,
            "generation": self.generation,
        }

    def _allow(self, *states: SearchIndexState) -> None:
        if self.state not in states:
            raise Conflict(f"The index is {self.state}, not {' or '.join(states)}. Read the tool again.")


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
