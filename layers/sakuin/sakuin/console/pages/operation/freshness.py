"""The page of freshness: how long changes took to become searchable in the last days, as a plot and a table."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.pages.operation.plot import plot_of
from sakuin.console.pages.operation.services import Operation
from sakuin.console.sessions import Session
from sakuin.console.shell import Shell

_DAYS = 30


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/freshness")
    def show(request: Request, session: Annotated[Session, Depends(shell.admin)]) -> Response:
        found = operation.freshness.days(_DAYS)
        today = datetime.now(UTC).date()
        plots = {}
        for product in ("pages", "tables"):
            days = [day for day in found if day.product == product]
            plots[product] = (days, plot_of(days, today=today, days_shown=_DAYS) if days else None)
        return shell.page(request, "operation/freshness.html", session, plots=plots, days=_DAYS)

    return router
