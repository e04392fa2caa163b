"""The first page: what is indexed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.sessions import Session
from sakuin.console.shell import Shell


def routes(shell: Shell) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/")
    def show(request: Request, session: Annotated[Session, Depends(shell.signed_in)]) -> Response:
        return shell.page(request, "overview.html", session)

    return router
