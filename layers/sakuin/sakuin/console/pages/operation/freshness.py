"""The page of freshness: how long changes took to become searchable in the last days, as a plot and a table."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.plot import plot_of
from sakuin.console.pages.operation.services import Operation
from sakuin.console.shell import Shell, Visit

_DAYS = 30


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/freshness")
    def show(visit: Annotated[Visit, Depends(shell.admin)]) -> Response:
        found = operation.freshness.days(_DAYS)
        today = datetime.now(UTC).date()
        plots = {}
        for product in ("pages", "tables"):
            days = [day for day in found if day.product == product]
            plots[product] = (days, plot_of(days, today=today, days_shown=_DAYS) if days else None)
        return visit.page("operation/freshness.html", plots=plots, days=_DAYS)

    return router
