"""The answers and requests of the REST API of projects."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from sakuin.tables.model import Role

# Texts of the database, described by their form.
Id = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
_SEARCH_INDEX = {
    "type": "object",
    "description": "The progress of the index; more members describe what the scan found.",
    "properties": {
        "state": {"enum": ["pending", "indexing", "ready", "error"]},
        "indexed_at": {"type": "string", "format": "date-time", "description": "Last complete."},
        "chunks_count": {"type": "integer"},
        "indexed_chunks_count": {"type": "integer"},
        "minutes_left": {"type": ["integer", "null"], "description": "While it waits for embeddings; null: not known."},
        "last_error": {"type": ["string", "null"], "description": "What to do; null after success."},
        "warning": {"type": ["string", "null"], "description": "Why nothing can be found."},
    },
}
Metadata = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "properties": {"search_index": _SEARCH_INDEX}})]


class _View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class _Asked(BaseModel):
    # A misspelt member must not be ignored.
    model_config = ConfigDict(extra="forbid")


class ProjectView(_View):
    """One project."""

    id: Id
    name: str
    role: Role | None = Field(description="The caller's role; null for an admin key.")


class ProjectsView(_View):
    """The caller's projects."""

    projects: list[ProjectView]


class ProjectAsked(_Asked):
    """A new project."""

    name: str


class MemberView(_View):
    """A member of a project, by the id of a user of Supabase Auth."""

    user_id: Id
    role: Role
    since: Time


class MembersView(BaseModel):
    """A project's members, the oldest first."""

    members: list[MemberView]


class MemberAsked(_Asked):
    """A new member, or another role of a member, by the id of a user of Supabase Auth."""

    user_id: UUID
    role: Role | None = Field(default=None, description="Left out: a new member is a viewer, others keep their role.")


class TransferAsked(_Asked):
    """The next owner, who is a member already."""

    user_id: UUID


class SynonymsView(BaseModel):
    """A project's synonyms for the questions to its Search Tools."""

    groups: list[list[str]] = Field(description="Each group has phrases that mean the same.")


class SynonymsAsked(_Asked):
    """The next synonyms of a project; an empty list deletes them."""

    groups: list[list[str]] = Field(description="Each group has two or more phrases that mean the same.")


class TableView(_View):
    """A Table without its document, which is at `/v1/tables/{id}/data`."""

    id: Id
    project_id: Id
    name: str
    version: int = Field(description="0: no document was imported yet.")
    import_error: str | None = Field(description="Why the last upload was rejected.")
    pending_upload: bool = Field(description="A document is announced and not uploaded yet.")
    chunk_threshold_chars: int = Field(description="Strings with at least so many characters are indexed.")
    bytes: int = Field(description="Of the document, or of a larger one that is announced.")
    chunks_count: int = Field(description="What the last scan found.")


class TablesView(_View):
    """A project's Tables."""

    tables: list[TableView]


class TableUploadAsked(_Asked):
    """A new Table whose document is uploaded."""

    name: str
    size: int = Field(ge=1, description="Bytes of the document, exactly.")
    chunk_threshold_chars: int | None = Field(default=None, description="The length from which strings are indexed.")


class UploadAsked(_Asked):
    """The announcement of a Table's next document."""

    size: int = Field(ge=1, description="Bytes of the document, exactly.")


class UploadTargetView(_View):
    """The URL and the headers of the PUT request for the document."""

    url: str
    headers: dict[str, str]


class UploadView(_View):
    """The announced Table, and the target of its document."""

    table: TableView
    upload: UploadTargetView


class ToolAsked(_Asked):
    """A new Search Tool."""

    table_id: UUID
    json_path: str = Field(description='RFC 6901 pointer of the searched part; "" for the whole document.')
    type: Literal["search"] = "search"
    name: str = Field(description="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None


class ToolChangeAsked(_Asked):
    """The changes of a Tool."""

    name: str | None = None
    description: str | None = None
    enabled: bool | None = None


class ToolView(_View):
    """A Search Tool; its status is in `metadata.search_index`."""

    id: Id
    project_id: Id
    table_id: Id
    json_path: str
    type: str
    name: str
    description: str
    input_schema: dict[str, Any]
    enabled: bool
    metadata: Metadata
    version: int


class ToolsView(_View):
    """A project's Tools."""

    tools: list[ToolView]


class EndpointAsked(_Asked):
    """A new MCP endpoint with its Tools."""

    name: str
    tool_ids: list[UUID] = Field(default=[], max_length=100)


class EndpointChangeAsked(_Asked):
    """The changes of an endpoint."""

    name: str | None = None
    status: Literal["enabled", "disabled"] | None = None


class RotationAsked(_Asked):
    """How long the old key stays valid."""

    overlap_seconds: int = Field(default=3600, ge=0, le=7 * 24 * 3600)


class BindingAsked(_Asked):
    """The status of a Tool's binding."""

    status: Literal["enabled", "disabled"] = "enabled"


class BoundToolView(_View):
    """A Tool at an endpoint."""

    tool_id: Id
    name: str
    status: str


class EndpointView(_View):
    """An MCP endpoint: `POST /mcp/{id}`. The days show the last use of its key, and of the previous key while valid."""

    id: Id
    project_id: Id
    name: str
    status: str
    tools: list[BoundToolView]
    key_last_used_on: Day | None
    previous_key_last_used_on: Day | None


class EndpointsView(_View):
    """A project's endpoints."""

    mcps: list[EndpointView]


class EndpointKeyView(_View):
    """An endpoint and its key, which is shown only once."""

    mcp: EndpointView
    key: str
