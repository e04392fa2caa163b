"""The pages of a project's Search Tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import corrected_in, project_of, project_page, with_id
from sakuin.console.shell import Form, Reader, Visit
from sakuin.tables.model import SkippedNode, Tool

# The classes of the style sheet.
_KINDS = {"pending": "busy", "indexing": "busy", "ready": "good", "error": "bad"}
_SHOWN_NODES = 100


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """What a Tool's `search_index` says; platforms may write there, so every value is checked.

    `state` is a word of the texts, `kind` a class of the style sheet; `skipped` has the first nodes of `skipped_count`.
    """

    state: str
    kind: str
    nodes: int
    chunks: int
    indexed: int
    minutes_left: int
    indexed_at: str
    last_error: str
    warning: str
    skipped: Sequence[SkippedNode]
    skipped_count: int

    @classmethod
    def of(cls, tool: Tool) -> "IndexProgress":
        """Reads the status of a Tool."""
        recorded = tool.metadata.get("search_index")
        index: Mapping[str, Any] = recorded if isinstance(recorded, dict) else {}
        listed = index.get("skipped_nodes")
        skipped = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        state = str(index.get("state"))
        kind = state if state in _KINDS else "unknown"
        return cls(
            state=kind if tool.enabled else "disabled",
            kind=_KINDS.get(state, "none") if tool.enabled else "none",
            nodes=_count(index.get("nodes_count")),
            chunks=_count(index.get("chunks_count")),
            indexed=_count(index.get("indexed_chunks_count")),
            minutes_left=_count(index.get("minutes_left")) if state == "indexing" else 0,
            indexed_at=_text(index.get("indexed_at")),
            last_error=_text(index.get("last_error")),
            warning=_text(index.get("warning")),
            skipped=[
                SkippedNode(_text(one.get("json_pointer")), _text(one.get("reason"))) for one in skipped[:_SHOWN_NODES]
            ],
            skipped_count=len(skipped),
        )


router = APIRouter(prefix="/projects")


@router.get("/{project_id}/tools/new")
def show_new(visit: Reader, project_id: UUID, table: str = "") -> Response:
    """Shows the form, with a Table chosen."""
    project = project_of(visit, project_id, role="editor")
    tables = visit.records.tables(visit.user, project.id)
    chosen = visit.text("table") or table
    return project_page(visit, "tool_new.html", project, tables=tables, chosen=chosen)


@router.get("/{project_id}/tools/{tool_id}")
def show_tool(visit: Reader, project_id: UUID, tool_id: UUID) -> Response:
    project = project_of(visit, project_id)
    tool = with_id(visit.records.tools(visit.user, project.id), tool_id, "tool")
    return project_page(
        visit,
        "tool.html",
        project,
        tool=tool,
        index=IndexProgress.of(tool),
        table_names={table.id: table.name for table in visit.records.tables(visit.user, project.id)},
        endpoints=[
            one for one in visit.records.endpoints(visit.user, project.id) if tool.id in {b.tool_id for b in one.tools}
        ],
    )


def shown_again(visit: Visit, project_id: UUID, tool_id: UUID, done: str) -> Response:
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}/tools/{tool_id}", done=done)


@router.post("/{project_id}/tools")
@corrected_in(show_new)
def create_tool(visit: Form, project_id: UUID) -> Response:
    tool = visit.projects.tables.create_tool(
        visit.user,
        str(project_id),
        visit.text("table"),
        json_path=visit.text("json_path"),
        name=visit.text("name"),
        description=visit.text("description"),
    )
    return shown_again(visit, project_id, UUID(tool.id), "tool_created")


@router.post("/{project_id}/tools/{tool_id}/change")
@corrected_in(show_tool)
def change_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    name, description = visit.text("name"), visit.text("description")
    visit.records.change_tool(visit.user, str(tool_id), name=name, description=description)
    return shown_again(visit, project_id, tool_id, "saved")


@router.post("/{project_id}/tools/{tool_id}/reindex")
def reindex_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.reindex_tool(visit.user, str(tool_id))
    return shown_again(visit, project_id, tool_id, "tool_reindexed")


@router.post("/{project_id}/tools/{tool_id}/delete")
def delete_tool(visit: Form, project_id: UUID, tool_id: UUID) -> Response:
    visit.records.delete_tool(visit.user, str(tool_id))
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}", done="tool_deleted")


@router.post("/{project_id}/tools/{tool_id}/{action}")
def enable_or_disable(visit: Form, project_id: UUID, tool_id: UUID, action: Literal["enable", "disable"]) -> Response:
    visit.records.change_tool(visit.user, str(tool_id), enabled=action == "enable")
    return shown_again(visit, project_id, tool_id, f"{action}d")


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
