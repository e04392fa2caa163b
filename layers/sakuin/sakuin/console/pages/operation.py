"""The pages of operation: what needs attention, and work with the dead letters. Users see the way to their projects."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.shell import Shell, Visit
from sakuin.errors import Invalid, Unavailable
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.upkeep.counts import ProjectCounts
from sakuin.upkeep.dead_letters import DeadLetterQueues, DescribedLetter, KnownFailure, described
from sakuin.upkeep.doctor import NEARLY_FULL
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.reconcile import ReconciliationRuns

# How many of each kind the first page names.
_NAMED = 5
_ROWS = 50
_LETTERS = 20
# API Gateway ends a request after 30 seconds.
_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Operation:
    """What the pages read and change. `counts` takes the most Tools in an error to name."""

    records: MaterialRecords
    unfinished: UnfinishedWorkStore
    dead_letters: DeadLetterQueues
    runs: ReconciliationRuns
    indexes: IndexVersions
    counts: Callable[[int], ProjectCounts]
    database_percent: Callable[[], float]

    def dead_letter_counts(self) -> Mapping[QueueName, int] | None:
        """Returns their number by queue; None while SQS does not answer, which hides nothing else."""
        try:
            return {queue: self.dead_letters.count(queue) for queue in QUEUES}
        except Unavailable:
            return None

    def letters(self, queue: QueueName, count: int) -> Sequence[DescribedLetter]:
        """Returns some dead letters of a queue. They stay there."""
        received = self.dead_letters.receive(queue, most=min(count, _LETTERS)) if count else []
        self.dead_letters.release(received)
        return described(received[:_LETTERS], self._failures)

    def _failures(self, subjects: Collection[str]) -> Mapping[tuple[str, str, str], KnownFailure]:
        rows = self.unfinished.rows(subjects=subjects) if subjects else ()
        return {
            (row.kind, row.subject, row.fingerprint): KnownFailure(row.reason, row.since, row.attempts) for row in rows
        }


def routes(shell: Shell, operation: Operation) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/")
    def show_attention(visit: Annotated[Visit, Depends(shell.signed_in)]) -> Response:
        """Shows an admin what is indexed and what needs attention."""
        if not visit.session.is_admin:
            return visit.page("overview.html")
        live = next((version for version in operation.indexes.all() if version.live), None)
        return visit.page(
            "attention.html",
            pages=operation.records.counts(),
            projects=operation.counts(_NAMED),
            work=operation.unfinished.counts().states,
            unfinished=operation.unfinished.rows(limit=_NAMED),
            failed=operation.records.failed(limit=_NAMED),
            competing=operation.records.competing_keys()[:_NAMED],
            letters=operation.dead_letter_counts(),
            night=operation.runs.report(),
            index=live.settings if live else None,
            disk=operation.database_percent(),
            disk_is_nearly_full=NEARLY_FULL * 100,
        )

    @router.get("/work")
    def list_work(
        visit: Annotated[Visit, Depends(shell.admin)],
        state: Literal["", "retrying", "waiting", "failed"] = "",
        after: str | None = None,
        queue: QueueName | None = None,
    ) -> Response:
        """Lists unfinished work, the oldest first, and some dead letters of one queue."""
        rows = operation.unfinished.rows(state=state or None, after=_read_place(after), limit=_ROWS + 1)
        shown, counts = rows[:_ROWS], operation.dead_letter_counts()
        return visit.page(
            "work.html",
            rows=shown,
            counts=operation.unfinished.counts().states,
            state=state,
            following=_work_address(state, shown[-1].place) if len(rows) > _ROWS else None,
            queue=queue,
            letter_counts=counts,
            letters=operation.letters(queue, counts[queue]) if queue and counts else (),
        )

    @router.post("/work/{queue}")
    def send_letters_again(queue: QueueName, visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        """Sends the dead letters of a queue again, for as long as a request may take."""
        if not visit.text("sure"):
            raise Invalid("Confirm that the messages are to be sent again")
        until = time.monotonic() + _SECONDS
        count = operation.dead_letters.send_all_again(queue, until=lambda: time.monotonic() > until)
        return redirect(f"/work?queue={queue}", done="letters_sent" if count else "no_letters")

    return router


def _work_address(state: str, place: Sequence[str]) -> str:
    """Returns the address of the list of work after this place."""
    query = {"state": state, "after": json.dumps(place, ensure_ascii=False)}
    return f"/console/work?{urlencode(query)}"


def _read_place(cursor: str | None) -> Sequence[str] | None:
    """Returns the place of a cursor; `Invalid` for any other text."""
    if not cursor:
        return None
    with suppress(ValueError, RecursionError):
        match json.loads(cursor):
            case [str(since), str(subject), str(kind), str(index)]:
                return since, subject, kind, index
    raise Invalid("The cursor is not one of this list")
