"""The REST API of reconciling: the index held against its sources, a page at a time."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sakuin.upkeep.reconcile import Reconcile

# API Gateway gives up after 30 seconds; the last Table of a page may be a large one.
_SECONDS = 10.0


class ReconcileView(BaseModel):
    """Which part to hold against its source, and from where on."""

    kind: Literal["keys", "pages", "words", "learns", "tables"] = Field(
        description="keys: bucket and index; pages: within the database; words: unused readings; "
        "learns: pages that wait for a language model; tables: the store"
    )
    after: str | None = Field(default=None, description="The `next` of the page before.")
    dry_run: bool = Field(default=True, description="Changes nothing.")


class DifferenceView(BaseModel):
    """What does not fit."""

    rule: str
    where: str = Field(description="A key of the bucket, a material, or the id of a Table.")
    message: str
    repair: str = Field(description="What is done about it, unless it is a dry run.")


class DifferencesView(BaseModel):
    """What one page found; `next` is the `after` of the next one."""

    differences: list[DifferenceView]
    next: str | None


def reconcile_router(reconcile: Callable[[], Reconcile]) -> APIRouter:
    """The route, for admins. `reconcile` is asked for by the first request."""

    router = APIRouter()

    @router.post("/v1/reconcile")
    def page(asked: ReconcileView) -> DifferencesView:
        """Holds one page of one part against its source, and repairs what differs through the queues."""
        walked = reconcile().page(asked.kind, asked.after, dry_run=asked.dry_run, seconds=_SECONDS)
        found = [DifferenceView.model_validate(asdict(one)) for one in walked.differences]
        return DifferencesView(differences=found, next=walked.after)

    return router
