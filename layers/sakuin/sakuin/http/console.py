"""The links that sign in to the console."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from sakuin.http.errors import may_fail
from sakuin.platform.keys import admin_hash
from sakuin.platform.secrets import KeyRing


class LinkView(BaseModel):
    """A link that signs in to the console once, within an hour."""

    path: str = Field(description="Its path and query on this host.")


def console_router(make_link: Callable[[str], str], keys: KeyRing) -> APIRouter:
    """Returns the route. `make_link` returns a code that signs the admin key with this hash in."""
    routes = APIRouter(prefix="/v1", tags=["Operation"], responses=may_fail(401, 503))

    def key_hash_of(request: Request) -> str:
        return admin_hash(request.headers, keys)

    @routes.post("/console-links", status_code=201)
    def create_console_link(key_hash: Annotated[str, Depends(key_hash_of)]) -> LinkView:
        """Creates a link that signs the caller's admin key in to the console, so that nobody has to copy the key."""
        return LinkView(path=f"/console/sign-in?code={make_link(key_hash)}")

    return routes
