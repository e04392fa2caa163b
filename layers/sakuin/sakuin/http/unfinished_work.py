"""The REST API of unfinished work: what is retried, waits or failed and why; the queues; the dead letters."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from sakuin.http.errors import may_fail
from sakuin.knowledge.names import material_of_key
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.platform.supabase.forms import Time
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore
from sakuin.upkeep.queues import DescribedLetter, LetterAction, Queues, QueueState, WorkInFlight

MOST_SUBJECTS = 50
# Of a request for dead letters. Each takes two calls of SQS, and API Gateway ends a request after 30 seconds.
MOST_LETTERS = 100


class WorkView(BaseModel):
    """A page, a file beside the pages, a Table or an upload whose work did not finish."""

    model_config = ConfigDict(from_attributes=True)

    kind: str = Field(
        description="file, material (indexed again), table, upload (of its document), deletion (of a Table or project)"
    )
    subject: str = Field(
        description="The S3 key of the file or upload, the material's name, or the id of the Table or project."
    )
    index: str = Field(validation_alias="fingerprint", description="The index over Tables; empty: all.")
    state: str = Field(description="retrying (by its queue), waiting (for a vendor, a time) or failed (a dead letter)")
    reason: str = Field(description="The reason of the last failure.")
    vendor: str | None = Field(description="The outside system that failed or that it waits for.")
    attempts: int = Field(description="The number of failures.")
    since: Time = Field(description="The time of the first failure.")
    retry_at: Time | None = Field(description="The time of the next automatic attempt; null for dead letters.")


class WorkListView(BaseModel):
    """Matching unfinished work, the oldest first; `counts` are of all."""

    counts: dict[str, int]
    work: list[WorkView]


@dataclass(frozen=True, slots=True)
class WorkOfMaterials:
    """Finds the unfinished work of materials. `prefix` is the part of S3 keys before the material's name."""

    unfinished: UnfinishedWorkStore
    prefix: str

    def __call__(self, materials: Iterable[str]) -> Mapping[str, Sequence[UnfinishedWork]]:
        """Returns it by material. Materials without unfinished work are omitted."""
        names = set(materials)
        found: dict[str, list[UnfinishedWork]] = {}
        if names:
            for row in self.unfinished.rows(subjects=self.subjects(names)):
                material = row.subject if row.kind == "material" else material_of_key(row.subject, prefix=self.prefix)
                if material in names:
                    found.setdefault(str(material), []).append(row)
        return found

    def subjects(self, names: Iterable[str]) -> set[str]:
        """Returns the possible subjects of rows about these materials, keys or Tables: the names and their keys."""
        subjects = set(names)
        for name in list(subjects):
            key = f"{self.prefix}{name}.html"
            subjects |= {key, unicodedata.normalize("NFC", key), unicodedata.normalize("NFD", key)}
        return subjects


def work_router(unfinished: UnfinishedWorkStore, of_materials: WorkOfMaterials) -> APIRouter:
    """Returns the route, for admins."""
    router = APIRouter(tags=["Operation"], responses=may_fail(503))

    @router.get("/v1/work")
    def list_unfinished_work(
        state: Literal["retrying", "waiting", "failed"] | None = None,
        subject: Annotated[list[str] | None, Query(max_length=MOST_SUBJECTS)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 200,
    ) -> WorkListView:
        """Returns work that did not finish. `subject` is a material, an S3 key or the id of a Table."""
        subjects = None if subject is None else of_materials.subjects(subject)
        rows = unfinished.rows(state=state, subjects=subjects, limit=limit)
        counts = {str(name): number for name, number in unfinished.counts().states.items()}
        return WorkListView(counts=counts, work=[WorkView.model_validate(row) for row in rows])

    return router


class QueuesView(BaseModel):
    """The queues, null while SQS does not answer, and the work in flight, the oldest first."""

    queues: Sequence[QueueState] | None
    in_flight: Sequence[WorkInFlight]


class DeadLettersView(BaseModel):
    """Dead letters, those of a queue the oldest first."""

    dead_letters: Sequence[DescribedLetter]


class LettersToChange(BaseModel):
    """What to do with dead letters."""

    action: LetterAction
    queue: QueueName | None = Field(default=None, description="null: all queues.")
    ids: list[str] | None = Field(default=None, max_length=MOST_LETTERS, description="Ids, or their beginnings.")
    limit: int = Field(default=MOST_LETTERS, ge=1, le=MOST_LETTERS, description="Without ids: of each queue.")


def queue_router(queues: Queues) -> APIRouter:
    """Returns the routes, for admins."""
    router = APIRouter(tags=["Operation"], responses=may_fail(503))

    @router.get("/v1/queues")
    def get_queues() -> QueuesView:
        """Returns how many messages wait and are in flight, since when, and without a worker."""
        in_flight = queues.in_flight()
        return QueuesView(queues=queues.states(in_flight), in_flight=in_flight)

    @router.get("/v1/dead-letters")
    def list_dead_letters(
        queue: QueueName | None = None, limit: Annotated[int, Query(ge=1, le=MOST_LETTERS)] = MOST_LETTERS
    ) -> DeadLettersView:
        """Returns dead letters, at most `limit` of each queue. They stay there."""
        letters = [letter for name in _names(queue) for letter in queues.letters.some(name, limit=limit)]
        return DeadLettersView(dead_letters=letters)

    @router.post("/v1/dead-letters", responses=may_fail(404))
    def change_dead_letters(request: LettersToChange) -> DeadLettersView:
        """Sends dead letters again, or discards them, and returns them. With an unknown id it does nothing."""
        letters = queues.letters.apply(request.action, _names(request.queue), ids=request.ids, limit=request.limit)
        return DeadLettersView(dead_letters=letters)

    return router


def _names(queue: QueueName | None) -> tuple[QueueName, ...]:
    return QUEUES if queue is None else (queue,)
