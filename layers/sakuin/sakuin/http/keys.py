"""The REST API of the deployment's keys, and of links that sign an admin key in to the console."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, Field

from sakuin.errors import Invalid, NotFound
from sakuin.http.access import AdminKey, Services, admin_routes
from sakuin.http.errors import may_fail
from sakuin.knowledge.model import Filters
from sakuin.knowledge.names import folder_name
from sakuin.platform.keys import DeploymentKey, KeyPurpose, hash_of_key
from sakuin.retrieval.filters import MOST_FILTERS


class LinkView(BaseModel):
    """A link that signs in to the console once, within an hour."""

    path: str = Field(description="Its path and query on this host.")


class KeysView(BaseModel):
    """The keys of the deployment."""

    keys: Sequence[DeploymentKey]


class NewKey(BaseModel):
    """A key to make."""

    name: str = Field(min_length=1, max_length=200)
    purpose: KeyPurpose = Field(description="search: `/mcp` and `/v1/search`; push: uploads; read: one project.")
    folder: str = Field(default="", max_length=500, description="To search or to push: this folder alone.")
    filter: dict[str, str] = Field(
        default_factory=dict, max_length=MOST_FILTERS, description="To search: pages with these values alone."
    )
    project: UUID | None = Field(default=None, description="To read: this project.")
    expires_at: AwareDatetime | None = Field(default=None, description="Without it the key is valid until removed.")


class NewKeyView(BaseModel):
    """A new key. Nothing shows it again."""

    key: str
    hash: str


router = admin_routes("Operation", 503)


@router.get("/keys")
def list_keys(services: Services) -> KeysView:
    """Returns the keys of `/mcp` and `/v1` with the day of their last use."""
    return KeysView(keys=services.deployment_keys())


@router.post("/keys", status_code=201, responses=may_fail(404, 409))
def create_key(services: Services, request: NewKey) -> NewKeyView:
    """Creates a key with one purpose and shows it, only once. No route creates an admin key."""
    if request.folder and request.purpose == "read":
        raise Invalid("A key that reads a project has no folder")
    project = str(request.project) if request.project else None
    folder, until = folder_name(request.folder), request.expires_at
    Filters.of_key(folder, request.filter)
    key = services.library_keys.create(
        request.name, request.purpose, folder=folder, filter=request.filter, project_id=project, expires_at=until
    )
    return NewKeyView(key=key, hash=hash_of_key(key))


@router.delete("/keys/{key_hash}", status_code=204)
def remove_key(services: Services, key_hash: str) -> None:
    """Removes a key that was made here or in the console; it ends within a minute."""
    if key_hash not in {key.key_hash for key in services.library_keys.all()}:
        raise NotFound("There is no such key here. Keys of the secret are removed with `sakuin keys rm`")
    services.library_keys.remove(key_hash)


@router.post("/console-links", status_code=201)
def create_console_link(services: Services, key_hash: AdminKey) -> LinkView:
    """Creates a link that signs the caller's admin key in to the console, so that nobody has to copy the key."""
    return LinkView(path=f"/console/sign-in?code={services.make_link(key_hash)}")
