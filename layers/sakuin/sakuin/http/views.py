"""What the REST API says of projects, and what it takes."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class _View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class _Asked(BaseModel):
    # A member that is misspelt must not be ignored.
    model_config = ConfigDict(extra="forbid")


class ProjectView(_View):
    """One project."""

    id: str
    name: str


class ProjectsView(_View):
    """The caller's projects."""

    projects: list[ProjectView]


class ProjectAsked(_Asked):
    """A new project."""

    name: str


class MemberView(_View):
    """A member of a project: the id of a user of Supabase Auth."""

    user_id: str
    since: str


class MembersView(BaseModel):
    """A project's members, the first one first."""

    members: list[MemberView]


class MemberAsked(_Asked):
    """A user of Supabase Auth who shall be a member."""

    user_id: UUID


class TableView(_View):
    """A Table without its document: that is at `/v1/tables/{id}/data`."""

    id: str
    project_id: str
    name: str
    version: int = Field(description="0: no document has arrived yet.")
    import_error: str | None = Field(description="Why the last upload was refused.")
    pending_upload: bool = Field(description="A document is announced and has not come.")


class TablesView(_View):
    """A project's Tables."""

    tables: list[TableView]


class TableUploadAsked(_Asked):
    """A new Table whose document is uploaded."""

    name: str
    size: int = Field(ge=1, description="Bytes of the document, exactly.")


class UploadAsked(_Asked):
    """A Table's next document is uploaded."""

    size: int = Field(ge=1, description="Bytes of the document, exactly.")


class UploadTargetView(_View):
    """PUT the document here, with these headers."""

    url: str
    headers: dict[str, str]


class UploadView(_View):
    """The announced Table, and where its document has to be put."""

    table: TableView
    upload: UploadTargetView


class ToolAsked(_Asked):
    """A new Search Tool."""

    table_id: UUID
    json_path: str = Field(description='RFC 6901 pointer of the part that is searched; "" for all of it.')
    type: str = "search"
    name: str = Field(description="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None


class ToolChangeAsked(_Asked):
    """What shall change of a Tool."""

    name: str | None = None
    description: str | None = None
    enabled: bool | None = None


class ToolView(_View):
    """A Search Tool; its status is in `metadata.search_index`."""

    id: str
    project_id: str
    table_id: str
    json_path: str
    type: str
    name: str
    description: str
    input_schema: dict[str, Any]
    enabled: bool
    metadata: dict[str, Any]
    version: int


class ToolsView(_View):
    """A project's Tools."""

    tools: list[ToolView]


class EndpointAsked(_Asked):
    """A new MCP endpoint; all of its Tools are bound, or it is not made."""

    name: str
    tool_ids: list[UUID] = Field(default=[], max_length=100)


class EndpointChangeAsked(_Asked):
    """What shall change of an endpoint."""

    name: str | None = None
    status: Literal["enabled", "disabled"] | None = None


class RotationAsked(_Asked):
    """How long the old key still opens."""

    overlap_seconds: int = Field(default=3600, ge=0, le=7 * 24 * 3600)


class BindingAsked(_Asked):
    """How a Tool is bound."""

    status: Literal["enabled", "disabled"] = "enabled"


class BoundToolView(_View):
    """A Tool at an endpoint."""

    tool_id: str
    name: str
    status: str


class EndpointView(_View):
    """An MCP endpoint: `POST /mcp/{id}`. The days on which its key, and the one before while it opens, were used."""

    id: str
    project_id: str
    name: str
    status: str
    tools: list[BoundToolView]
    key_last_used_on: str | None
    previous_key_last_used_on: str | None


class EndpointsView(_View):
    """A project's endpoints."""

    mcps: list[EndpointView]


class EndpointKeyView(_View):
    """An endpoint and its key, which is shown this once."""

    mcp: EndpointView
    key: str


class HeardView(_View):
    """Whether a change starts anything."""

    started: bool
