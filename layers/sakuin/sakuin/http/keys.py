"""The REST API of the deployment's keys, and of links that sign an admin key in to the console."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from sakuin.errors import Invalid, NotFound
from sakuin.http.errors import may_fail
from sakuin.knowledge.names import folder_name
from sakuin.platform.keys import DeploymentKey, KeyPurpose, LibraryKeys, admin_hash, hash_of_key
from sakuin.platform.secrets import KeyRing
from sakuin.platform.supabase.forms import Day, Time


class LinkView(BaseModel):
    """A link that signs in to the console once, within an hour."""

    path: str = Field(description="Its path and query on this host.")


class KeyView(BaseModel):
    """A key of the deployment. Those of the secret, `knowledge` and `admin`, have no name."""

    model_config = ConfigDict(from_attributes=True)

    hash: str = Field(description="The key's hash; `sakuin keys list` shows its first 12 digits.")
    purpose: Literal["knowledge", "admin", "search", "push", "read"]
    name: str
    folder: str = Field(description="The folder of the library that it opens alone; empty for all of it.")
    project: UUID | None = Field(validation_alias="project_id", description="The project that it reads.")
    created_at: Time | None
    expires_at: Time | None
    last_used_on: Day | None = Field(description="The day, in UTC, within a year.")


class KeysView(BaseModel):
    """The keys of the deployment."""

    keys: list[KeyView]


class KeyAsked(BaseModel):
    """A key to make."""

    name: str = Field(min_length=1, max_length=200)
    purpose: KeyPurpose = Field(description="search: `/mcp` and `/v1/search`; push: uploads; read: one project.")
    folder: str = Field(default="", max_length=500, description="To search or to push: this folder alone.")
    project: UUID | None = Field(default=None, description="To read: this project.")
    expires_at: AwareDatetime | None = Field(default=None, description="Without it the key is valid until removed.")


class NewKeyView(BaseModel):
    """A new key. Nothing shows it again."""

    key: str
    hash: str


def keys_router(keys: Callable[[], Sequence[DeploymentKey]], library: LibraryKeys) -> APIRouter:
    """Returns the routes, for admins. `keys` returns all keys; those in `library` are made and removed here."""
    routes = APIRouter(prefix="/v1", tags=["Operation"], responses=may_fail(503))

    @routes.get("/keys")
    def list_keys() -> KeysView:
        """Returns the keys of `/mcp` and `/v1` with the day of their last use."""
        return KeysView(keys=[KeyView.model_validate(key) for key in keys()])

    @routes.post("/keys", status_code=201, responses=may_fail(404, 409))
    def create_key(asked: KeyAsked) -> NewKeyView:
        """Creates a key with one purpose and shows it, only once. No route creates an admin key."""
        if asked.folder and asked.purpose == "read":
            raise Invalid("A key that reads a project has no folder")
        project = str(asked.project) if asked.project else None
        folder, until = folder_name(asked.folder), asked.expires_at
        key = library.create(asked.name, asked.purpose, folder=folder, project_id=project, expires_at=until)
        return NewKeyView(key=key, hash=hash_of_key(key))

    @routes.delete("/keys/{key_hash}", status_code=204)
    def remove_key(key_hash: str) -> None:
        """Removes a key that was made here or in the console; it ends within a minute."""
        if key_hash not in {key.key_hash for key in library.all()}:
            raise NotFound("There is no such key here. Keys of the secret are removed with `sakuin keys rm`")
        library.remove(key_hash)

    return routes


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
