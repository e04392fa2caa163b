"""The page of the deployment's keys, for admins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.sessions import Session
from sakuin.console.shell import Shell

# As many digits as `sakuin keys list` shows.
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class DeploymentKey:
    """The hash of a key, and the day in UTC on which the key was last used within a year."""

    purpose: Literal["knowledge", "admin"]
    hash: str
    last_used_on: str | None


def routes(shell: Shell, keys: Callable[[], Sequence[DeploymentKey]]) -> APIRouter:
    """Returns the routes. `keys` returns the valid keys, oldest first."""
    router = APIRouter()

    @router.get("/keys")
    def list_keys(request: Request, session: Annotated[Session, Depends(shell.admin)]) -> Response:
        return shell.page(request, "keys.html", session, keys=keys(), shown=_SHOWN)

    return router
