"""The answers and requests of the REST API of projects."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from sakuin.platform.s3 import UploadTarget
from sakuin.tables.model import McpEndpoint, Member, Project, Role, Table, Tool


class _Asked(BaseModel):
    # A misspelt member must not be ignored.
    model_config = ConfigDict(extra="forbid")


class ProjectsView(BaseModel):
    """The caller's projects."""

    projects: Sequence[Project]


class ProjectAsked(_Asked):
    """A new project."""

    name: str


class MembersView(BaseModel):
    """A project's members, the oldest first."""

    members: Sequence[Member]


class MemberAsked(_Asked):
    """A new member, or another role of a member, by the id of a user of Supabase Auth."""

    user_id: UUID
    role: Role | None = Field(default=None, description="Left out: a new member is a viewer, others keep their role.")


class TransferAsked(_Asked):
    """The next owner, who is a member already."""

    user_id: UUID


class SynonymsView(BaseModel):
    """A project's synonyms for the questions to its Search Tools."""

    groups: Sequence[Sequence[str]] = Field(description="Each group has phrases that mean the same.")


class SynonymsAsked(_Asked):
    """The next synonyms of a project; an empty list deletes them."""

    groups: list[list[str]] = Field(description="Each group has two or more phrases that mean the same.")


class TablesView(BaseModel):
    """A project's Tables."""

    tables: Sequence[Table]


class TableUploadAsked(_Asked):
    """A new Table whose document is uploaded."""

    name: str
    size: int = Field(ge=1, description="Bytes of the document, exactly.")
    chunk_threshold_chars: int | None = Field(default=None, description="The length from which strings are indexed.")


class UploadAsked(_Asked):
    """The announcement of a Table's next document."""

    size: int = Field(ge=1, description="Bytes of the document, exactly.")


class UploadView(BaseModel):
    """The announced Table, and the target of its document."""

    table: Table
    upload: UploadTarget


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


class ToolsView(BaseModel):
    """A project's Tools."""

    tools: Sequence[Tool]


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


class EndpointsView(BaseModel):
    """A project's endpoints."""

    mcps: Sequence[McpEndpoint]


class EndpointKeyView(BaseModel):
    """An endpoint and its key, which is shown only once."""

    mcp: McpEndpoint
    key: str
