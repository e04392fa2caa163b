"""What the pages of one project share: the project, and what the reader may do there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, get_args
from uuid import UUID

from fastapi.responses import HTMLResponse, Response

from sakuin.console.shell import Visit
from sakuin.errors import Conflict, Forbidden, Invalid, NotFound, OverLimit
from sakuin.tables.model import McpEndpoint, Project, Role, SkippedNode, Table, Tool
from sakuin.texts.catalogue import coded

Record = TypeVar("Record", Project, Table, Tool, McpEndpoint)
# Takes a visit and the ids in the path.
Answer = Callable[..., Response]
# The classes of the style sheet.
_KINDS = {"pending": "busy", "indexing": "busy", "updating": "busy", "ready": "good", "empty": "bad", "error": "bad"}
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


def corrected_in(form: Answer) -> Callable[[Answer], Answer]:
    """Has the handler of a form answer with the page `form`, and what was typed, if somebody can correct an error."""

    def decorated(handle: Answer) -> Answer:
        @wraps(handle)
        def answer(visit: Visit, **path: UUID) -> Response:
            try:
                return handle(visit, **path)
            except (Invalid, Conflict, OverLimit) as error:
                return form(visit.with_problem(error), **path)

        return answer

    return decorated


def project_of(visit: Visit, project_id: UUID, *, role: Role = "viewer") -> Project:
    """Returns a project of the reader, for an admin any; else `NotFound`, and `Forbidden` for a lower role."""
    project = with_id(visit.records.projects(visit.user), project_id, "project")
    if not has_role(visit, project, role):
        raise Forbidden(coded("form.needs_role", role=role))
    return project


def project_page(visit: Visit, template: str, project: Project, **values: Any) -> HTMLResponse:
    """Returns a page of a project.

    Beside the values of every page, templates know `project`, `home` (its path), `can_edit` and `owns`.
    """
    return visit.page(
        f"projects/{template}",
        project=project,
        home=f"/projects/{project.id}",
        can_edit=has_role(visit, project, "editor"),
        owns=has_role(visit, project, "owner"),
        **values,
    )


def with_id(records: Iterable[Record], id: UUID, what: str) -> Record:
    """Returns the record with this id; `NotFound` if there is none."""
    for record in records:
        if record.id == str(id):
            return record
    raise NotFound(coded(f"record.no_{what}", id=id))


def has_role(visit: Visit, project: Project, role: Role) -> bool:
    """Returns whether the reader has at least this role; an admin has every one."""
    roles = get_args(Role)
    return visit.session.is_admin or (project.role is not None and roles.index(project.role) >= roles.index(role))


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
