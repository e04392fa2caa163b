"""The REST API of gaps: what was asked and has no good answer, and what a page for it would need."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, WithJsonSchema

from sakuin.errors import NotFound
from sakuin.http.errors import may_fail
from sakuin.upkeep.gaps import Gap, Remedy

# So many of its questions are in an answer.
_QUESTIONS = 20


ToolId = Annotated[str | None, WithJsonSchema({"type": ["string", "null"], "format": "uuid"})]


class GapView(BaseModel):
    """Questions that ask for the same."""

    id: str
    name: str = Field(description="Their most frequent words.")
    tool_id: ToolId = Field(description="The Search Tool that was asked; null is the library.")
    asked: int
    weak: int = Field(description="How often of these the answer was weak, and not refused.")
    since: str = Field(description="The first day, in UTC.")
    last: str
    questions: list[str] = Field(description="The most frequent ones.")


class GapsView(BaseModel):
    """The gaps of the last 30 days, the most frequent first."""

    is_recorded: bool = Field(description="Whether questions are recorded (RecordRefusedQuestions).")
    gaps: list[GapView]


class NearestView(BaseModel):
    """A result that is near."""

    id: str
    title: str
    similarity: float
    url: str | None


class RemedyView(BaseModel):
    """A gap, and what a page that answers it would need."""

    gap: GapView
    heading: str = Field(description="A heading with the words of the questions.")
    words: list[str] = Field(description="Words of the questions that no text of the index has.")
    nearest: list[NearestView] = Field(description="Where it belongs: the nearest results.")


def gap_router(gaps: Callable[[], Sequence[Gap]], remedy_of: Callable[[Gap], Remedy], is_recorded: bool) -> APIRouter:
    """Returns the routes, for admins."""
    router = APIRouter(prefix="/v1", tags=["Operation"], responses=may_fail(503))

    @router.get("/gaps")
    def list_gaps() -> GapsView:
        """Returns the questions of the last 30 days without a good answer, in groups."""
        return GapsView(is_recorded=is_recorded, gaps=list(map(_view, gaps())))

    @router.get("/gaps/{name}", responses=may_fail(404))
    def get_gap(name: str) -> RemedyView:
        """Asks the first question of the gap with this id again, and returns what a page that answers it would need."""
        gap = next((each for each in gaps() if each.id == name), None)
        if gap is None:
            raise NotFound(f"There is no gap {name!r}. GET /v1/gaps lists them")
        found = asdict(remedy_of(gap))
        return RemedyView(gap=_view(gap), **found)

    return router


def _view(gap: Gap) -> GapView:
    return GapView(
        id=gap.id,
        name=gap.name,
        tool_id=gap.tool_id,
        asked=gap.asked,
        weak=gap.weak,
        since=gap.since,
        last=gap.last,
        questions=[each.question for each in gap.questions[:_QUESTIONS]],
    )
