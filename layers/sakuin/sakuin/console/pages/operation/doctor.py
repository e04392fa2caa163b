"""The page of the doctor: checks of the database and of each vendor's key, on request."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.operation.services import Operation
from sakuin.console.shell import Shell, Visit


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/doctor")
    def ask(visit: Annotated[Visit, Depends(shell.admin)]) -> Response:
        """Shows the button: the checks call each vendor."""
        return visit.page("operation/doctor.html", problems=None)

    @router.post("/doctor")
    def check(visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        """Makes the checks, and shows what is wrong."""
        return visit.page("operation/doctor.html", problems=operation.doctor())

    return router
