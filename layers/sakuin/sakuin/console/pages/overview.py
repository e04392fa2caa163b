"""The first page: what is indexed and what needs attention, for admins; for users the way to their projects."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.services import Operation
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Unavailable
from sakuin.platform.retry import QUEUES

# How many of each kind the page names.
_NAMED = 5


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/")
    def show(visit: Annotated[Visit, Depends(shell.signed_in)]) -> Response:
        if not visit.session.is_admin:
            return visit.page("overview.html")
        records = operation.library.records
        live = next((each for each in operation.indexes.all() if each.live), None)
        unfinished = operation.unfinished.rows(limit=_NAMED)
        return visit.page(
            "operation/overview.html",
            pages=records.counts(),
            projects=operation.counts(_NAMED),
            work=operation.unfinished.counts().states,
            unfinished=[(row, operation.material_of(row)) for row in unfinished],
            failed=records.failed(limit=_NAMED),
            competing=records.competing_keys()[:_NAMED],
            letters=_dead_letters(operation),
            night=operation.runs.report(),
            freshness=operation.freshness.days(1),
            index=live.settings if live else None,
        )

    return router


def _dead_letters(operation: Operation) -> Mapping[str, int] | None:
    """Returns their number by queue; None while SQS does not answer, which hides nothing else."""
    try:
        return {queue: operation.dead_letters.count(queue) for queue in QUEUES}
    except Unavailable:
        return None
