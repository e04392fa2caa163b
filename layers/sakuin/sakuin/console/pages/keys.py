"""The page of the deployment's keys, for admins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.agents import LIBRARY_VARIABLE, AgentEndpoint, configurations
from sakuin.console.answers import redirect
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Invalid
from sakuin.platform.keys import LibraryKeys

# As many digits as `sakuin keys list` shows.
_SHOWN = 12
# Keys of the library that the console makes.
_MOST_KEYS = 100


@dataclass(frozen=True, slots=True)
class DeploymentKey:
    """The hash of a key, and the day in UTC on which the key was last used within a year.

    `name` is that of a key that the console made, empty for those of the secret.
    """

    purpose: Literal["knowledge", "admin"]
    hash: str
    last_used_on: str | None
    name: str = ""


def routes(shell: Shell, keys: Callable[[], Sequence[DeploymentKey]], library: LibraryKeys) -> APIRouter:
    """Returns the routes. `keys` returns the valid keys; those in `library` are made and revoked here.

    A key outlives a session, so the form asks for an admin key again. Admin keys cannot be created here: a leaked key
    could create another.
    """
    router = APIRouter()

    def page(visit: Visit, problem: str = "", status: int = 200) -> Response:
        return visit.page("keys.html", status=status, keys=keys(), shown=_SHOWN, problem=problem)

    @router.get("/keys")
    def list_keys(visit: Annotated[Visit, Depends(shell.admin)]) -> Response:
        return page(visit)

    @router.post("/keys/new")
    def make_key(visit: Annotated[Visit, Depends(shell.admin_form_once)]) -> Response:
        if shell.sessions.admin_key(visit.text("key")) is None:
            return page(visit, "wrong_admin_key", 403)
        if len(library.all()) >= _MOST_KEYS:
            return page(visit, "too_many", 409)
        name = visit.text("name")
        try:
            key = library.create(name)
        except Invalid:
            return page(visit, "name_missing", 422)
        to = AgentEndpoint("sakuin", f"{visit.origin}/mcp", LIBRARY_VARIABLE)
        return visit.page("key.html", name=name, key=key, to=to, agents=configurations(to, key))

    @router.get("/keys/new", include_in_schema=False)
    def lead_back(request: Request) -> Response:
        return redirect("/keys")

    @router.post("/keys/revoke")
    def revoke_key(visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        library.remove(visit.text("hash"))
        return redirect("/keys", done="key_revoked")

    return router
