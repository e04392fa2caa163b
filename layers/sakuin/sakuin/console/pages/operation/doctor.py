"""The page of the doctor: checks of the database and of each vendor's key, on request."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.forms import Form
from sakuin.console.pages.operation.services import Operation
from sakuin.console.sessions import Session
from sakuin.console.shell import Shell


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/doctor")
    def ask(request: Request, session: Annotated[Session, Depends(shell.admin)]) -> Response:
        """Shows the button: the checks call each vendor."""
        return shell.page(request, "operation/doctor.html", session, problems=None)

    @router.post("/doctor")
    def check(request: Request, form: Annotated[Form, Depends(shell.admin_form)]) -> Response:
        """Makes the checks, and shows what is wrong."""
        return shell.page(request, "operation/doctor.html", form.session, problems=operation.doctor())

    return router
