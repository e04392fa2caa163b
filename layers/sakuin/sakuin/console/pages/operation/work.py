"""The page of unfinished work: what is retried, waits or failed, and why."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.services import Operation, address, read_place, write_place
from sakuin.console.shell import Shell, Visit

_ROWS = 50
_PLACE_PARTS = 4


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/work")
    def list_work(
        visit: Annotated[Visit, Depends(shell.admin)],
        state: Literal["", "retrying", "waiting", "failed"] = "",
        after: str | None = None,
    ) -> Response:
        """Lists unfinished work, the oldest first."""
        place = read_place(after, _PLACE_PARTS)
        rows = operation.unfinished.rows(state=state or None, after=place, limit=_ROWS + 1)
        shown = rows[:_ROWS]
        following = address("/work", state=state, after=write_place(shown[-1].place)) if len(rows) > _ROWS else None
        return visit.page(
            "operation/work.html",
            rows=[(row, operation.material_of(row)) for row in shown],
            counts=operation.unfinished.counts().states,
            state=state,
            following=following,
            address=address,
        )

    return router
