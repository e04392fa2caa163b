"""Projects, Tables, Tools and endpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

from sakuin.platform.supabase.forms import Day, Id, Time
from sakuin.retrieval.filters import Attributes, FieldType
from sakuin.tables.entries import NO_ENTRIES, EntryRules

EventName = Literal[
    "ToolCreated", "ToolUpdated", "ToolDeleted", "TableUpdated", "TableDeleted", "ToolReady", "ToolFailed"
]

Switch = Literal["enabled", "disabled"]

# Each role includes the ones before it.
Role = Literal["viewer", "editor", "owner"]


@dataclass(frozen=True, slots=True)
class User:
    """A user of Supabase Auth, whose token or session was verified, by the UUID."""

    id: str


@dataclass(frozen=True, slots=True)
class Project:
    """One project, and the role in it of the user who asks; None for an admin."""

    id: Id
    name: str
    role: Role | None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a project, `since` when (ISO 8601).

    `email` is the address that an owner invited; owners and admins see it. Who `is_invited` is no member yet.
    """

    user_id: Id
    role: Role
    since: Time
    is_invited: bool
    email: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A Table without its document. Version 0 has no document yet.

    `pending_upload`: an upload is announced; `import_error`: why the last upload was invalid. Strings of at least
    `chunk_threshold_chars` code points are indexed. `bytes` of the document, or of a larger one that is announced;
    `chunks_count`: what the last scan found. `entries`: None if it has none.
    """

    id: Id
    project_id: Id
    name: str
    version: int
    import_error: str | None
    pending_upload: bool
    chunk_threshold_chars: int
    bytes: int
    chunks_count: int
    entries: EntryRules | None = None


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A Table and its document: JSON text, or the key of an upload; both None in version 0."""

    table: Table
    data: str | None
    data_key: str | None


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """An announced upload. `upload` is its number, which increases for each Table."""

    project_id: str
    table_id: str
    upload: int

    @property
    def key(self) -> str:
        return f"tables/{self.project_id}/{self.table_id}/{self.upload}.json"


_SEARCH_INDEX = {
    "type": "object",
    "description": "The progress of the index; more members describe what the scan found.",
    "properties": {
        "state": {"enum": ["pending", "indexing", "updating", "ready", "empty", "error"]},
        "indexed_at": {"type": "string", "format": "date-time", "description": "Last complete."},
        "chunks_count": {"type": "integer"},
        "indexed_chunks_count": {"type": "integer"},
        "minutes_left": {"type": ["integer", "null"], "description": "While it waits for embeddings; null: not known."},
        "last_error": {"type": ["string", "null"], "description": "What to do; null after success."},
        "last_error_code": {"type": "string", "description": "Of `last_error`, for programs."},
        "warning": {"type": ["string", "null"], "description": "Why nothing can be found."},
    },
}
Metadata = Annotated[
    Mapping[str, Any], WithJsonSchema({"type": "object", "properties": {"search_index": _SEARCH_INDEX}})
]


@dataclass(frozen=True, slots=True)
class Tool:
    """A Search Tool; its status is in `metadata.search_index`."""

    id: Id
    project_id: Id
    table_id: Id
    json_path: str
    type: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    enabled: bool
    metadata: Metadata
    version: int


@dataclass(frozen=True, slots=True)
class Binding:
    """A Tool at an endpoint, with what the entries of its Table are, and the values that the endpoint fixes."""

    tool_id: Id
    name: str
    status: Switch
    entries: EntryRules | None = None
    filter: Mapping[str, str | bool | int | float] = field(default_factory=dict)

    @property
    def filters(self) -> list[str]:
        """Returns the fields by which agents may filter."""
        return [name for name in (self.entries.filter if self.entries else ()) if name not in self.filter]


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """An MCP endpoint without its key: `POST /mcp/{id}`.

    The days in UTC show the last use of its key, and of the previous key while that is valid.
    """

    id: Id
    project_id: Id
    name: str
    status: Switch
    tools: tuple[Binding, ...]
    key_last_used_on: Day | None = None
    previous_key_last_used_on: Day | None = None


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """The event of a committed change. `request_id` is the request that made it, for the logs.

    `generation` is that of the Table whose Tool is ready or failed.
    """

    id: int
    event: EventName
    project_id: str
    table_id: str
    tool_id: str | None
    request_id: str | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A Search Tool of an endpoint. `index` is its `search_index`, `entries` are those of its Table.

    `fixed` has the attributes that entries must have at this endpoint.
    """

    id: str
    project_id: str
    table_id: str
    json_path: str
    name: str
    description: str
    index: Mapping[str, Any]
    entries: EntryRules = NO_ENTRIES
    fixed: Attributes = field(default_factory=dict)

    @property
    def filters(self) -> Mapping[str, FieldType]:
        """Returns the types of the fields by which an agent may filter."""
        return {name: kind for name, kind in self.entries.filter.items() if name not in self.fixed}

    @property
    def state(self) -> str:
        return str(self.index.get("state", "pending"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An enabled MCP endpoint with its enabled Tools."""

    id: str
    project_id: str
    tools: tuple[BoundTool, ...]


@dataclass(frozen=True, slots=True)
class FullChunk:
    """A chunk in a search result."""

    id: str
    table_id: str
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_text: str
    char_start: int
    char_end: int
    content_hash: str
    turbopuffer_namespace: str
    turbopuffer_doc_id: str


TOP_K_MAX = 50
TOP_K_DEFAULT = 5

# The migration of projects has the same.
SEARCH_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": 'A complete question (the search keeps no memory) or words: "how long is the warranty", '
            "「保証期間は何年」.",
        },
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": TOP_K_MAX,
            "default": TOP_K_DEFAULT,
            "description": "Most results.",
        },
        "cursor": {"type": "string", "description": "A `next_cursor`."},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class SkippedNode:
    """A large string that could not be indexed, and why."""

    json_pointer: str
    reason: str
