"""The routes of upkeep: doctor, reconciliation, erasing, gaps, and queues with their dead letters."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from sakuin.differences import Difference
from sakuin.errors import Invalid
from sakuin.http.access import Services, admin_routes
from sakuin.http.errors import may_fail
from sakuin.knowledge.names import folder_name
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.upkeep.doctor import Problem
from sakuin.upkeep.gaps import Nearest, gap_with
from sakuin.upkeep.queues import DescribedLetter, LetterAction, QueueState
from sakuin.upkeep.reconcile import Kind
from sakuin.upkeep.refused_questions import Judgement, RefusedQuestion

# Of a request for dead letters. Each takes two calls of SQS, and API Gateway ends a request after 30 seconds.
MOST_LETTERS = 100
# So many of its questions are in an answer.
_QUESTIONS = 20

router = admin_routes("Operation", 503)
# For what answers also while SQS or the database does not.
check_router = admin_routes("Operation")


def _texts(questions: Sequence[RefusedQuestion]) -> list[str]:
    return [question.question for question in questions[:_QUESTIONS]]


class GapView(BaseModel):
    """Questions that ask for the same."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str = Field(description="Their most frequent words.")
    tool_id: Annotated[str | None, WithJsonSchema({"type": ["string", "null"], "format": "uuid"})] = Field(
        description="The Search Tool that was asked; null is the library."
    )
    asked: int
    weak: int = Field(description="How often of these the answer was weak, and not refused.")
    unanswered: int = Field(description="How often an agent said that a result did not answer.")
    since: str = Field(description="The first day, in UTC.")
    last: str
    questions: Annotated[list[str], BeforeValidator(_texts)] = Field(description="The most frequent ones.")


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


@router.get("/gaps")
def list_gaps(services: Services) -> GapsView:
    """Returns the questions of the last 30 days without a good answer, in groups."""
    gaps = map(GapView.model_validate, services.gaps.all())
    return GapsView(is_recorded=services.gaps.is_recorded, gaps=list(gaps))


@router.get("/gaps/{name}", responses=may_fail(404))
def get_gap(services: Services, name: str) -> RemedyView:
    """Asks the first question of the gap with this id again, and returns what a page that answers it would need."""
    gap = gap_with(name, services.gaps.all())
    result = services.gaps.remedy(gap)
    shown = GapView.model_validate(gap)
    return RemedyView(gap=shown, heading=result.heading, words=result.words, nearest=result.nearest)


@router.get("/feedback")
def list_feedback(services: Services, limit: Annotated[int, Query(ge=1, le=1000)] = 1000) -> FeedbackView:
    """Returns what agents said of answers, by explanation and question."""
    return FeedbackView(feedback=services.gaps.feedback(limit))


class ReconcileView(BaseModel):
    """The part to compare with its source, and where to begin."""

    kind: Kind = Field(description="keys: bucket and index; rows: pages in turbopuffer; tables: Tables in turbopuffer")
    after: str | None = Field(default=None, description="The `next` of the page before.")
    dry_run: bool = Field(default=True, description="Changes nothing.")


class DifferencesView(BaseModel):
    """The differences of one page; `next` is the `after` of the next page."""

    differences: Sequence[Difference]
    next: str | None


@router.post("/reconcile")
def reconcile_page(services: Services, request: ReconcileView) -> DifferencesView:
    """Compares one page of a part with its source, and repairs differences through the queues."""
    result = services.reconcile().page(request.kind, request.after, dry_run=request.dry_run)
    return DifferencesView(differences=result.differences, next=result.after)


class EraseView(BaseModel):
    """Whose records to erase: a folder of the library, a project, or both."""

    folder: str | None = Field(default=None, description="Its pages, files, keys, and all questions to the library.")
    project_id: UUID | None = Field(default=None, description="A deleted project, of which counters are left.")
    dry_run: bool = Field(default=True, description="Counts and changes nothing.")


class ErasedView(BaseModel):
    """What was erased, or would be."""

    erased: Mapping[str, int] = Field(description="How many records of each kind.")
    left: int = Field(description="How many pages and projects are left: send the request again.")


@router.post("/erase")
def erase_records(services: Services, request: EraseView) -> ErasedView:
    """Erases records of a customer whose files are gone from the bucket; `sakuin erase` does all of it."""
    folder = folder_name(request.folder) if request.folder is not None else None
    if folder == "":
        raise Invalid("Name a folder. The whole library is erased by deleting the stack and the database")
    project_id = str(request.project_id) if request.project_id else None
    result = services.erase(folder, project_id, dry_run=request.dry_run)
    return ErasedView(erased=result.erased, left=result.left)


class DoctorView(BaseModel):
    """The problems that the deployment sees from inside; none if all is right."""

    version: str
    python: str
    time: str = Field(description="The function's clock, in UTC.")
    problems: Sequence[Problem]


@check_router.get("/doctor")
def check_deployment(services: Services) -> DoctorView:
    """Checks the database and each vendor's key, and signs in as an agent does."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return DoctorView(version=services.version, python=platform.python_version(), time=now, problems=services.doctor())


class QueuesView(BaseModel):
    """The queues, null while SQS does not answer."""

    queues: Sequence[QueueState] | None


class DeadLettersView(BaseModel):
    """Dead letters, those of a queue the oldest first."""

    dead_letters: Sequence[DescribedLetter]


class LettersToChange(BaseModel):
    """What to do with dead letters."""

    action: LetterAction
    queue: QueueName | None = Field(default=None, description="null: all queues.")
    ids: list[str] | None = Field(default=None, max_length=MOST_LETTERS, description="Ids, or their beginnings.")
    limit: int = Field(default=MOST_LETTERS, ge=1, le=MOST_LETTERS, description="Without ids: of each queue.")


@check_router.get("/queues")
def get_queues(services: Services) -> QueuesView:
    """Returns how many messages wait and are in flight, and how many are dead letters."""
    return QueuesView(queues=services.queues.states())


@router.get("/dead-letters")
def list_dead_letters(
    services: Services,
    queue: QueueName | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LETTERS)] = MOST_LETTERS,
) -> DeadLettersView:
    """Returns dead letters, at most `limit` of each queue. They stay there."""
    letters = [letter for name in _names(queue) for letter in services.queues.letters(name, limit=limit)]
    return DeadLettersView(dead_letters=letters)


@router.post("/dead-letters", responses=may_fail(404))
def change_dead_letters(services: Services, request: LettersToChange) -> DeadLettersView:
    """Sends dead letters again, or discards them, and returns them. With an unknown id it does nothing."""
    letters = services.queues.apply(request.action, _names(request.queue), ids=request.ids, limit=request.limit)
    return DeadLettersView(dead_letters=letters)


def _names(queue: QueueName | None) -> tuple[QueueName, ...]:
    return QUEUES if queue is None else (queue,)
