"""The REST API of indexes: how far each is built, which one answers."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sakuin.retrieval.index_version import BuiltPart, IndexVersionState
from sakuin.upkeep.index_versions import IndexVersionAdmin


class MissingView(BaseModel):
    """A page or a Table that an index lacks."""

    name: str
    reason: str


class PartView(BaseModel):
    """How far an index is built, of pages or of Tables."""

    total: int
    missing: int
    named: list[MissingView] = Field(description="The first ten that are missing.")


class IndexView(BaseModel):
    """An index that is kept."""

    fingerprint: str
    settings: dict[str, Any] = Field(description="What it is built with.")
    live: bool = Field(description="Whether it answers.")
    created_at: str
    live_since: str | None = Field(description="Since when it answers, or did last; null: it never did.")
    retired_at: str | None
    pages: PartView
    tables: PartView


class IndexesView(BaseModel):
    """The indexes that are kept, the oldest first."""

    indexes: list[IndexView]


class FlipAsked(BaseModel):
    """Which index is to answer: a fingerprint, how it begins, or "next"."""

    index: str = Field(default="next", min_length=1, max_length=64)
    force: bool = Field(default=False, description="Even if it is not whole.")


class DroppedView(BaseModel):
    """The index that was given up."""

    fingerprint: str


def index_router(keep: IndexVersionAdmin) -> APIRouter:
    """The routes of indexes, for admins."""

    routes = APIRouter(prefix="/v1")

    @routes.get("/index")
    def indexes() -> IndexesView:
        return IndexesView(indexes=[_view(state) for state in keep.states()])

    @routes.post("/index/flip")
    def flip(asked: FlipAsked) -> IndexView:
        """Lets an index answer, for pages and Tables at once. The one that did is kept, and written to."""
        return _view(keep.flip(asked.index, force=asked.force))

    @routes.delete("/index/{name}")
    def drop(name: str) -> DroppedView:
        """Gives up an index that does not answer."""
        return DroppedView(fingerprint=keep.drop(name))

    return routes


def _view(state: IndexVersionState) -> IndexView:
    return IndexView(
        fingerprint=state.settings.id,
        settings=state.settings.as_json(),
        live=state.live,
        created_at=state.created_at,
        live_since=state.live_since,
        retired_at=state.retired_at,
        pages=_part(state.pages),
        tables=_part(state.tables),
    )


def _part(part: BuiltPart) -> PartView:
    named = [MissingView(name=name, reason=reason) for name, reason in part.named]
    return PartView(total=part.total, missing=part.missing, named=named)
