"""The pages of operation: what needs attention, and work with the dead letters. Users see the way to their projects."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.attention import ProjectCounts, needs_of, state_of
from sakuin.console.charts import charts_of
from sakuin.console.forms import redirect
from sakuin.console.shell import Shell, Visit, language_of
from sakuin.errors import Invalid
from sakuin.knowledge.library import Library
from sakuin.platform.retry import QueueName
from sakuin.platform.unfinished_work import UnfinishedWorkStore
from sakuin.texts.catalogue import Texts, coded
from sakuin.upkeep.daily_counts import Usage
from sakuin.upkeep.doctor import NEARLY_FULL
from sakuin.upkeep.index_versions import IndexVersions
from sakuin.upkeep.queues import LetterAction, Queues
from sakuin.upkeep.reconcile import ReconciliationRuns

# How many of each kind the first page names.
_NAMED = 5
_ROWS = 50
_LETTERS = 20
# API Gateway ends a request after 30 seconds.
_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Operation:
    """What the pages read and change. `counts` takes the most Tools in an error to name.

    `usd_per_million` are the prices of the tokens of embeddings and of learns; the price of a model may be unknown.
    """

    library: Library
    unfinished: UnfinishedWorkStore
    queues: Queues
    runs: ReconciliationRuns
    indexes: IndexVersions
    counts: Callable[[int], ProjectCounts]
    database_percent: Callable[[], float]
    usage: Callable[[], Usage]
    usd_per_million: tuple[float | None, float | None] = (None, None)

    def attention(self, t: Texts) -> dict[str, Any]:
        """Returns what the first page shows."""
        library, records = self.library, self.library.records
        pages, projects, work = records.counts(), self.counts(_NAMED), self.unfinished.counts().states
        broken = records.broken_files()
        materials, _ = records.materials(collapsed=True, limit=_NAMED)
        collapsed = list(filter(None, map(library.collapsed, materials)))
        queues, night = self.queues.states(self.queues.in_flight()), self.runs.report()
        competing, disk, usage = records.competing_keys(), self.database_percent(), self.usage()
        is_full = disk > NEARLY_FULL * 100
        numbers = (len(competing), len(broken), records.collapsed_count())
        needs = needs_of(pages, projects, work, queues, *numbers, night, is_disk_full=is_full)
        is_new = not pages.get("ready", 0) and not projects.tools
        live = next((version for version in self.indexes.all() if version.live), None)
        return {
            "state": state_of(t, needs, is_new=is_new),
            "needs": needs,
            "is_new": is_new,
            "charts": charts_of(usage),
            "callers": usage.callers,
            "usd": self._usd(usage),
            "pages": pages,
            "projects": projects,
            "failed": records.failed(limit=_NAMED),
            "broken": broken[:_NAMED],
            "competing": competing[:_NAMED],
            "collapsed": collapsed,
            "night": night,
            "index": live.settings if live else None,
            "disk": disk,
        }

    def _usd(self, usage: Usage) -> float | None:
        """Returns what the tokens of all days cost at most; None without a price."""
        sums = (sum(usage.series(f"tokens:{kind}")) for kind in ("embedding", "learns"))
        pairs = [(tokens, price) for tokens, price in zip(sums, self.usd_per_million, strict=True) if tokens]
        if not all(price is not None for _, price in pairs):
            return None
        return sum(tokens * (price or 0.0) for tokens, price in pairs) / 1e6

    def change_letters(self, queue: QueueName, action: LetterAction) -> int:
        """Changes the dead letters that a queue has now, for as long as a request may take; returns their number."""
        states = self.queues.states(()) or ()
        left = total = sum(state.dead_letters for state in states if state.queue == queue)
        until = time.monotonic() + _SECONDS
        while left > 0 and time.monotonic() < until:
            changed = self.queues.letters.apply(action, [queue], ids=None, limit=min(left, _LETTERS))
            if not changed:
                break
            left -= len(changed)
        return total - left


def routes(shell: Shell, operation: Operation) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def show_attention(visit: Annotated[Visit, Depends(shell.signed_in)]) -> Response:
        """Shows an admin what is indexed and what needs attention."""
        if not visit.session.is_admin:
            return visit.page("overview.html")
        return visit.page("attention.html", **operation.attention(language_of(visit.request)))

    @router.get("/work")
    def list_work(
        visit: Annotated[Visit, Depends(shell.admin)],
        state: Literal["", "retrying", "waiting", "failed"] = "",
        after: str | None = None,
        queue: QueueName | None = None,
    ) -> Response:
        """Lists unfinished work, the oldest first, what is in flight, and some dead letters of one queue."""
        rows = operation.unfinished.rows(state=state or None, after=_read_place(after), limit=_ROWS + 1)
        shown, in_flight = rows[:_ROWS], operation.queues.in_flight()
        states = operation.queues.states(in_flight)
        letters = next((state.dead_letters for state in states or () if state.queue == queue), 0)
        return visit.page(
            "work.html",
            rows=shown,
            counts=operation.unfinished.counts().states,
            state=state,
            following=_work_address(state, shown[-1].place) if len(rows) > _ROWS else None,
            queue=queue,
            queues=states,
            in_flight=in_flight,
            letters_count=letters,
            letters=operation.queues.letters.some(queue, limit=_LETTERS) if queue and letters else (),
        )

    @router.post("/work/{queue}")
    def change_letters(queue: QueueName, visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
        """Sends the dead letters of a queue again, or discards them."""
        if not visit.text("sure"):
            raise Invalid(coded("form.confirm"))
        action: LetterAction = "discard" if visit.text("action") == "discard" else "send_again"
        count = operation.change_letters(queue, action)
        message = "no_letters" if not count else "letters_discarded" if action == "discard" else "letters_sent"
        return redirect(f"/work?queue={queue}", done=message)

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
    raise Invalid(coded("form.cursor"))
