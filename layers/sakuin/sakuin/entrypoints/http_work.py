"""The REST API of work: which messages are in hand, wait, are parked or dead, and why."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from sakuin.services.look_at_work import LookAtWork

MOST_IDS = 50


class WorkView(BaseModel):
    """A message that is not done."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    queue: str = Field(description="material, tool or embed")
    state: str = Field(description="in_hand, waiting (in its queue), parked (in no queue) or dead (a dead letter)")
    subject: str | None = Field(description="The material, or the id of the Table; null for what nobody can read.")
    attempt: int = Field(description="How often it was taken since it was last parked.")
    vendor: str | None = Field(description="For whom it waits.")
    reason: str | None = Field(description="Why it failed last, or why it is parked.")
    taken_at: str = Field(description="When it was first taken.")
    heartbeat_at: str = Field(description="The last sign of life of a worker that had it.")
    since: str | None = Field(description="Since when it is in trouble.")
    until: str | None = Field(description="When it is sent again by itself, unless something is heard of it before.")


class WorkListView(BaseModel):
    """Work that fits, the first taken first; `counts` are of all."""

    counts: dict[str, int]
    work: list[WorkView]


def work_router(work: LookAtWork) -> APIRouter:
    """The routes, for admins."""

    router = APIRouter()

    @router.get("/v1/work")
    def listed(
        state: Literal["in_hand", "waiting", "parked", "dead"] | None = None,
        queue: Literal["material", "tool", "embed"] | None = None,
        subject: str | None = None,
        id: Annotated[list[str] | None, Query(max_length=MOST_IDS)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 200,
    ) -> WorkListView:
        """Messages that are not done: in hand, waiting, parked or dead."""
        rows = work.rows(state=state, queue=queue, subject=subject, ids=id, limit=limit)
        counts = {str(name): number for name, number in work.counts().states.items()}
        return WorkListView(counts=counts, work=[WorkView.model_validate(row) for row in rows])

    return router
