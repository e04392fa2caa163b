"""The REST API of index versions: their progress, activation and deletion."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, Field

from sakuin.errors import Invalid
from sakuin.http.access import Services, admin_routes, push_routes
from sakuin.http.errors import may_fail
from sakuin.platform.embedding import packed
from sakuin.platform.supabase.forms import Time
from sakuin.upkeep.index_versions import BuiltPart, IndexVersionState

# The characters of one request that are embedded: API Gateway ends it after 30 seconds.
_LONGEST = 20_000


class IndexVersionView(BaseModel):
    """An index version."""

    fingerprint: str
    settings: dict[str, Any] = Field(description="The settings that it is built with.")
    live: bool = Field(description="Whether it is active.")
    created_at: Time
    live_since: Time | None = Field(description="When it was last activated; null: never.")
    retired_at: Time | None
    pages: BuiltPart
    tables: BuiltPart


class IndexesView(BaseModel):
    """The index versions, the oldest first."""

    indexes: list[IndexVersionView]


class Activation(BaseModel):
    """The index version to activate: a fingerprint, its beginning, or "next"."""

    index: str = Field(default="next", min_length=1, max_length=64)
    force: bool = Field(default=False, description="Activate it even if it is not complete.")


class VectorNames(BaseModel):
    """Names of stored vectors, and texts and questions to embed."""

    names: list[Annotated[str, Field(pattern="^[0-9a-f]{64}(/[0-9]{1,5})?$")]] = Field(default=[], max_length=500)
    texts: list[Annotated[str, Field(min_length=1, max_length=_LONGEST)]] = Field(default=[], max_length=64)
    queries: list[Annotated[str, Field(min_length=1, max_length=_LONGEST)]] = Field(default=[], max_length=8)


class VectorsView(BaseModel):
    """Vectors of the live index version: base64 of 16-bit floats, the highest byte first."""

    settings: dict[str, Any] = Field(description="The settings that the index version is built with.")
    vectors: dict[str, str] = Field(description="By name; a name without a vector is left out.")
    texts: list[str]
    queries: list[str]


class DroppedView(BaseModel):
    """The deleted index version."""

    fingerprint: str


router = admin_routes("Index versions", 503)
vector_router = push_routes()


@router.get("/index")
def list_index_versions(services: Services) -> IndexesView:
    return IndexesView(indexes=[_view(state) for state in services.index_versions.indexes.states()])


@router.post("/index/activate", responses=may_fail(404, 409))
def activate_index_version(services: Services, request: Activation) -> IndexVersionView:
    """Activates an index version for pages and Tables. The previous one is still updated."""
    return _view(services.index_versions.activate(request.index, force=request.force))


@router.delete("/index/{name}", responses=may_fail(409))
def delete_index_version(services: Services, name: str) -> DroppedView:
    """Deletes an index version that is not active."""
    return DroppedView(fingerprint=services.index_versions.delete(name))


@vector_router.post("/index/vectors")
def find_vectors(services: Services, request: VectorNames) -> VectorsView:
    """Returns stored vectors, and embeds texts and questions without storing them."""
    if sum(map(len, (*request.texts, *request.queries))) > _LONGEST:
        raise Invalid(f"The texts have more than {_LONGEST:,} characters together. Send fewer in a request")
    live, stored, texts, queries = services.live_vectors(request.names, request.texts, request.queries)
    return VectorsView(
        settings=live.as_json(),
        vectors={name: packed(vector) for name, vector in stored.items()},
        texts=list(map(packed, texts)),
        queries=list(map(packed, queries)),
    )


def _view(state: IndexVersionState) -> IndexVersionView:
    named = {"fingerprint": state.settings.id, "settings": state.settings.as_json()}
    return IndexVersionView.model_validate(asdict(state) | named)
