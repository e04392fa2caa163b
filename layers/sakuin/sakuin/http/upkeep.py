"""The REST API of upkeep: what `sakuin doctor` checks, a page of the index compared with its sources, and gaps."""

import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, WithJsonSchema

from sakuin.http.errors import may_fail
from sakuin.platform.reconciliation import Difference
from sakuin.upkeep.doctor import Problem
from sakuin.upkeep.gaps import Gap, Nearest, Remedy, gap_with
from sakuin.upkeep.reconcile import Reconcile
from sakuin.upkeep.refused_questions import Judgement

# So many of its questions are in an answer.
_QUESTIONS = 20
# API Gateway ends a request after 30 seconds, and the last Table of a page may be large.
_SECONDS = 10.0

ToolId = Annotated[str | None, WithJsonSchema({"type": ["string", "null"], "format": "uuid"})]


class GapView(BaseModel):
    """Questions that ask for the same."""

    id: str
    name: str = Field(description="Their most frequent words.")
    tool_id: ToolId = Field(description="The Search Tool that was asked; null is the library.")
    asked: int
    weak: int = Field(description="How often of these the answer was weak, and not refused.")
    unanswered: int = Field(description="How often an agent said that a result did not answer.")
    since: str = Field(description="The first day, in UTC.")
    last: str
    questions: list[str] = Field(description="The most frequent ones.")


class GapsView(BaseModel):
    """The gaps of the last 30 days, the most frequent first."""

    is_recorded: bool = Field(description="Whether questions are recorded (RecordRefusedQuestions).")
    gaps: list[GapView]


class FeedbackView(BaseModel):
    """What agents said of answers of the library in the last 30 days, the most frequent first."""

    feedback: Sequence[Judgement]


class RemedyView(BaseModel):
    """A gap, and what a page that answers it would need."""

    gap: GapView
    heading: str = Field(description="A heading with the words of the questions.")
    words: Sequence[str] = Field(description="Words of the questions that no text of the index has.")
    nearest: Sequence[Nearest] = Field(description="Where it belongs: the nearest results.")


def gap_router(
    gaps: Callable[[], Sequence[Gap]],
    remedy_of: Callable[[Gap], Remedy],
    is_recorded: bool,
    feedback: Callable[[int], Sequence[Judgement]] = lambda _limit: (),
) -> APIRouter:
    """Returns the routes, for admins."""
    router = APIRouter(prefix="/v1", tags=["Operation"], responses=may_fail(503))

    @router.get("/gaps")
    def list_gaps() -> GapsView:
        """Returns the questions of the last 30 days without a good answer, in groups."""
        return GapsView(is_recorded=is_recorded, gaps=list(map(_view, gaps())))

    @router.get("/gaps/{name}", responses=may_fail(404))
    def get_gap(name: str) -> RemedyView:
        """Asks the first question of the gap with this id again, and returns what a page that answers it would need."""
        gap = gap_with(name, gaps())
        remedy = remedy_of(gap)
        return RemedyView(gap=_view(gap), heading=remedy.heading, words=remedy.words, nearest=remedy.nearest)

    @router.get("/feedback")
    def list_feedback(limit: Annotated[int, Query(ge=1, le=1000)] = 1000) -> FeedbackView:
        """Returns what agents said of answers, by explanation and question."""
        return FeedbackView(feedback=feedback(limit))

    return router


def _view(gap: Gap) -> GapView:
    return GapView(
        id=gap.id,
        name=gap.name,
        tool_id=gap.tool_id,
        asked=gap.asked,
        weak=gap.weak,
        unanswered=gap.unanswered,
        since=gap.since,
        last=gap.last,
        questions=[each.question for each in gap.questions[:_QUESTIONS]],
    )


class ReconcileView(BaseModel):
    """The part to compare with its source, and where to begin."""

    kind: Literal["keys", "pages", "words", "learns", "tables"] = Field(
        description="keys: bucket and index; pages: within the database; words: unused readings; "
        "learns: unused answers of the language model and unused vectors; tables: the store"
    )
    after: str | None = Field(default=None, description="The `next` of the page before.")
    dry_run: bool = Field(default=True, description="Changes nothing.")


class DifferencesView(BaseModel):
    """The differences of one page; `next` is the `after` of the next page."""

    differences: Sequence[Difference]
    next: str | None


def reconcile_router(reconcile: Callable[[], Reconcile]) -> APIRouter:
    """Returns the route, for admins. The first request builds `reconcile`."""
    router = APIRouter(tags=["Operation"], responses=may_fail(503))

    @router.post("/v1/reconcile")
    def reconcile_page(asked: ReconcileView) -> DifferencesView:
        """Compares one page of a part with its source, and repairs differences through the queues."""
        result = reconcile().page(asked.kind, asked.after, dry_run=asked.dry_run, seconds=_SECONDS)
        return DifferencesView(differences=result.differences, next=result.after)

    return router


class DoctorView(BaseModel):
    """The problems that the deployment sees from inside; none if all is right."""

    version: str
    python: str
    time: str = Field(description="The function's clock, in UTC.")
    problems: Sequence[Problem]


def doctor_router(problems: Callable[[], Sequence[Problem]], version: str) -> APIRouter:
    """Returns the route, for admins."""
    router = APIRouter(tags=["Operation"])

    @router.get("/v1/doctor")
    def check_deployment() -> DoctorView:
        """Checks the database and each vendor's key. It changes nothing and costs nothing."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return DoctorView(version=version, python=platform.python_version(), time=now, problems=problems())

    return router
