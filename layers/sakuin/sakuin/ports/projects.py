"""Projects and what they hold, and how their changes travel."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sakuin.domain.project_records import (
    Endpoint,
    EventName,
    Member,
    OutboxEvent,
    PendingUpload,
    Project,
    StoredTable,
    Switch,
    Table,
    Tool,
    UploadTarget,
    User,
)


class ProjectRecords(Protocol):
    """Projects, Tables, Tools and endpoints. Each change is one transaction and writes its own events.

    `user` is the member on whose behalf, who proves it by his own token; None is an admin. What is not there, or not
    the user's, raises `NotFound`, and nothing is written.
    """

    def create_project(self, user: User | None, name: str) -> Project:
        """A new project, of which `user` is a member."""

    def projects(self, user: User | None) -> Sequence[Project]:
        """The user's projects, oldest first; an admin's are all."""

    def count_projects(self, user: User) -> int:
        """How many projects the user created and nobody deleted, whether he is their member or not."""

    def delete_project(self, user: User | None, project_id: str) -> None:
        """Deletes a project with all that it holds."""

    def add_member(self, user: User | None, project_id: str, member: str) -> None:
        """Makes a user a member. Twice is once."""

    def members(self, user: User | None, project_id: str) -> Sequence[Member]:
        """A project's members, the first one first."""

    def remove_member(self, user: User | None, project_id: str, member: str) -> None:
        """Makes a user, or oneself, no member. The last one stays: `Conflict`; who is none is `NotFound`."""

    def create_table(self, user: User | None, project_id: str, *, name: str, data: str | None) -> Table:
        """A new Table of version 1, or of version 0 if `data` (JSON text) is None: its body is uploaded later."""

    def table(self, user: User | None, table_id: str) -> StoredTable:
        """A Table with its body."""

    def tables(self, user: User | None, project_id: str) -> Sequence[Table]:
        """A project's Tables by name."""

    def replace_table(self, user: User | None, table_id: str, *, data: str, expected_version: int | None) -> Table:
        """The next version. `Conflict` if the Table no longer has the expected one; None expects nothing."""

    def rename_table(self, user: User | None, table_id: str, name: str) -> Table:
        """Another name. It re-indexes nothing."""

    def delete_table(self, user: User | None, table_id: str) -> None:
        """Deletes a Table with its Tools."""

    def begin_upload(self, user: User | None, table_id: str) -> PendingUpload:
        """Announces a body. A later announcement, or a replaced body, makes this one obsolete."""

    def finish_upload(self, table_id: str, upload: int, key: str | None, error: str | None) -> bool:
        """An announced body has arrived at `key`, or cannot be read for `error`; False if it was obsolete."""

    def create_tool(
        self,
        user: User | None,
        table_id: str,
        *,
        json_path: str,
        name: str,
        description: str,
        input_schema: Mapping[str, Any],
    ) -> Tool:
        """A new Search Tool, pending."""

    def tool(self, user: User | None, tool_id: str) -> Tool:
        """A Tool with its status."""

    def tools(self, user: User | None, project_id: str) -> Sequence[Tool]:
        """A project's Tools by name."""

    def change_tool(
        self,
        user: User | None,
        tool_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Tool:
        """Changes what is not None. `Conflict` if an endpoint of the Tool has another one of this name."""

    def reindex_tool(self, user: User | None, tool_id: str) -> Tool:
        """Makes a Tool pending again; what the store has lost is stored again."""

    def delete_tool(self, user: User | None, tool_id: str) -> None:
        """Deletes a Tool with its bindings."""

    def create_endpoint(
        self, user: User | None, project_id: str, *, name: str, key_hash: str, tools: Sequence[str]
    ) -> Endpoint:
        """A new MCP endpoint with these Tools bound to it: all of them, or no endpoint.

        `Conflict` if two of them have one name.
        """

    def endpoint(self, user: User | None, mcp_id: str) -> Endpoint:
        """An endpoint with its bindings, by the Tools' names."""

    def endpoints(self, user: User | None, project_id: str) -> Sequence[Endpoint]:
        """A project's endpoints by name."""

    def bind(self, user: User | None, mcp_id: str, tool_id: str, *, status: Switch) -> Endpoint:
        """Binds a Tool of the endpoint's own project, or changes the binding's status. A name taken: `Conflict`."""

    def unbind(self, user: User | None, mcp_id: str, tool_id: str) -> Endpoint:
        """Removes a binding; one that is not there is `NotFound`."""

    def rotate(self, user: User | None, mcp_id: str, *, key_hash: str, overlap_seconds: int) -> Endpoint:
        """Another key; the old one opens for `overlap_seconds` more."""

    def change_endpoint(
        self, user: User | None, mcp_id: str, *, name: str | None = None, status: Switch | None = None
    ) -> Endpoint:
        """Changes what is not None."""

    def delete_endpoint(self, user: User | None, mcp_id: str) -> None:
        """Deletes an endpoint with its bindings."""

    def changed_elsewhere(self, event: EventName, *, project_id: str, table_id: str, tool_id: str | None) -> None:
        """Writes the event of a change that somebody made in the database himself, and makes its Tools pending.

        A Table that is gone is not an error: then only `TableDeleted` writes an event.
        """


class TableBodies(Protocol):
    """The bodies of Tables that are too large for a request, by key."""

    def presigned_put(self, key: str, *, seconds: int, size: int) -> UploadTarget:
        """Where and how anybody may put exactly `size` bytes within `seconds`."""

    def read(self, key: str, *, max_bytes: int) -> bytes:
        """A body. One that is not there is `NotFound`, one over `max_bytes` `Invalid` before it travels."""

    def write(self, key: str, body: bytes) -> None:
        """Stores a body."""


@dataclass(frozen=True, slots=True)
class LeftFolder:
    """A Table's folder of bodies; `keep` is the one that it has now, `gone` says that there is no Table any more."""

    folder: str
    keep: str | None
    gone: bool


class LeftBodies(Protocol):
    """Which folders hold bodies that nobody may need any more."""

    def due(self, *, of_the_gone: timedelta, left: timedelta, limit: int) -> Sequence[LeftFolder]:
        """Those known for so long, the longest first: of Tables that are gone, and of Tables that have another body."""

    def removed(self, folder: LeftFolder, *, again: bool) -> None:
        """It was looked through. `again`: something in it is not old enough, so it is due again after the same time."""


class EventBus(Protocol):
    """The bus that the platform's events travel on."""

    def put(self, events: Sequence[OutboxEvent]) -> set[int]:
        """Sends events; the ids of those that the bus took. None is not an error."""


class Outbox(Protocol):
    """Events that are committed, and wait for the bus."""

    def unsent(self, *, limit: int) -> Sequence[OutboxEvent]:
        """The oldest that wait."""

    def sent(self, ids: Collection[int]) -> None:
        """Remembers that the bus took them. Twice is once; none is not an error."""


class UserTokens(Protocol):
    """The tokens of people who signed in."""

    def user_of(self, token: str) -> str:
        """The UUID of the user; a token that is wrong, too old or made for others is `Unauthorized`."""
