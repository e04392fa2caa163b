"""The rows of work in Supabase."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import httpx
from postgrest import SyncPostgrestClient as Client

from sakuin.adapters.supabase_client import call, credentials
from sakuin.domain.material_version import Source
from sakuin.domain.work import (
    About,
    Again,
    Begun,
    Dead,
    DueWork,
    Ended,
    Parked,
    Taken,
    WorkCounts,
    WorkQueueName,
    WorkRow,
    WorkState,
)

# Workers give a sign of life every ten seconds: four may be lost.
_LOST_SECONDS = 45
# A worker that died while it sent is followed by the next minute's.
_CLAIMED_SECONDS = 60
# What was sent and not taken for so long may not be in its queue any more; a copy does no harm.
_UNHEARD_SECONDS = 180
# The work waits for its row when it begins again and when it ends: not for long.
_TIMEOUT_SECONDS = 2.0


def connected_beside(url: str, key: str) -> Client:
    """A client of its own for what is written beside the work: it gives up soon, and nobody else counts its calls."""
    address = f"{url}/rest/v1"
    session = httpx.Client(base_url=address, timeout=_TIMEOUT_SECONDS)
    return Client(address, headers=credentials(key), http_client=session, retry_enabled=False)


@dataclass(frozen=True, slots=True)
class SupabaseWork:
    """`WorkRows`."""

    client: Client

    def begin(self, taken: Sequence[Taken]) -> Mapping[str, Begun]:
        said = call(self.client, "work_begun", {"p_taken": [_taken(one) for one in taken], "p_seconds": _LOST_SECONDS})
        return {
            work_id: Begun(row["attempt"], row["parks"], row["dead"], row["waited"]) for work_id, row in said.items()
        }

    def beat(self, ids: Collection[str]) -> None:
        call(self.client, "work_beats", {"p_ids": sorted(ids), "p_seconds": _LOST_SECONDS})

    def end(self, ended: Sequence[Ended]) -> None:
        call(self.client, "work_ended", {"p_ended": [_ended(one) for one in ended]})

    def due(self, *, limit: int) -> Sequence[DueWork]:
        rows = call(self.client, "work_due", {"p_limit": limit, "p_seconds": _CLAIMED_SECONDS})
        return [_due(row) for row in rows]

    def sent(self, ids: Collection[str]) -> None:
        call(self.client, "work_sent", {"p_ids": sorted(ids), "p_seconds": _UNHEARD_SECONDS})

    def bury(self, work_id: str, reason: str) -> None:
        call(self.client, "work_buried", {"p_id": work_id, "p_reason": reason})

    def restarted(self, table_id: str, fingerprint: str, *, seconds: int) -> int | None:
        asked = {"p_table": table_id, "p_fingerprint": fingerprint, "p_seconds": seconds}
        count: int | None = call(self.client, "table_restarted", asked)
        return count

    def rows(
        self,
        *,
        state: WorkState | None = None,
        queue: WorkQueueName | None = None,
        subjects: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        limit: int = 500,
    ) -> Sequence[WorkRow]:
        given = {
            "state": state,
            "queue": queue,
            "subjects": None if subjects is None else sorted(subjects),
            "ids": None if ids is None else sorted(ids),
        }
        wanted = {name: value for name, value in given.items() if value is not None}
        return [_row(row) for row in call(self.client, "work_rows", {"p_wanted": wanted, "p_limit": limit})]

    def counts(self) -> WorkCounts:
        said = call(self.client, "work_counts", {})
        oldest = int(said.pop("oldest_parked_seconds"))
        return WorkCounts(said, oldest)


def _taken(taken: Taken) -> dict[str, Any]:
    source = taken.about.source
    return {
        "id": taken.id,
        "queue": taken.queue,
        "body": taken.body,
        "correlation_id": taken.correlation_id,
        "subject": taken.about.subject,
        "fingerprint": taken.about.fingerprint,
        "source": asdict(source) if source else None,
        "tries": taken.tries,
        "sent_at": taken.sent_at,
    }


def _ended(ended: Ended) -> dict[str, Any]:
    match ended.outcome:
        case Again(seconds, reason, vendor):
            # It is the queue's; only when that has forgotten it, it is sent again.
            said = {"outcome": "again", "reason": reason, "vendor": vendor, "seconds": seconds + _UNHEARD_SECONDS}
        case Parked(seconds, reason, vendor):
            said = {"outcome": "parked", "reason": reason, "vendor": vendor, "seconds": seconds}
        case Dead(reason):
            said = {"outcome": "dead", "reason": reason, "seconds": 0}
        case _:
            return {"id": ended.taken.id, "outcome": "done"}
    return _taken(ended.taken) | said


def _due(row: Mapping[str, Any]) -> DueWork:
    about = About(row["subject"], Source(**row["source"]) if row["source"] else None, row["fingerprint"])
    return DueWork(
        row["id"], row["queue"], row["body"], row["correlation_id"], about, attempt=row["attempt"], lost=row["lost"]
    )


def _row(row: Mapping[str, Any]) -> WorkRow:
    until = row["until"] if row["state"] != "dead" else None
    return WorkRow(**{**row, "until": until})
