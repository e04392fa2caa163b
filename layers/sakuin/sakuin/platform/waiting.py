"""The rows that messages are about: attempts that began, and since when and why a message waits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sakuin.platform.retry import Waiting
from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import code_of, restored, stored

# What the worker of a row needs next: the index versions, and what is known of a page (`begin_work` in SQL).
Record = Mapping[str, Any]

# For a request: a worker may have little time left when it writes rows.
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkRow:
    """The row that a message is about.

    `id` is the name of a `page`, the key of a `file`, the id of a `table`, or that of the first of some `chunks`;
    `table_id` and `fingerprint` ("" for the live index version) belong to the last two. `source` makes the row of a new
    page. `is_requested`: the row says that the message waits from the moment that it is sent.
    """

    kind: Literal["page", "file", "table", "chunks"]
    id: str
    table_id: str | None = None
    fingerprint: str = ""
    source: Mapping[str, Any] | None = None
    is_requested: bool = False


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """How much work waits for one reason."""

    vendor: str | None
    reason: str
    count: int
    reason_code: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """What waits: how much, the age of the oldest that waits for a vendor, by reason, and the oldest rows."""

    count: int
    oldest_seconds: int
    reasons: Sequence[WaitingReason]
    rows: Sequence[Waiting]


def waiting_of(row: Mapping[str, Any]) -> Waiting:
    """Returns what a row of the database says."""
    reason = restored(row["reason"])
    return Waiting(**{**row, "reason": reason}, reason_code=code_of(reason))


@dataclass(frozen=True, slots=True)
class WorkRecords:
    """What the rows say of messages. Each method is one transaction."""

    client: Client

    def begin(self, row: WorkRow, message_id: str) -> tuple[int, Record]:
        """Counts an attempt, and returns the record of the row.

        First returns how many attempts of this message began, this one included, and did not end.
        """
        record = call(self.client, "begin_work", {"p_work": asdict(row), "p_message": message_id})
        return record["attempts"], record

    def wait(
        self, row: WorkRow, message_id: str, *, since: str, reason: str, vendor: str | None, seconds: float
    ) -> None:
        """Records that an attempt ended by itself and its message comes again after `seconds`."""
        wait = {"since": since, "reason": stored(reason), "vendor": vendor, "seconds": seconds}
        call(self.client, "record_wait", {"p_work": asdict(row), "p_message": message_id, "p_wait": wait})

    def finish(self, row: WorkRow) -> None:
        """Records that nothing waits any more."""
        call(self.client, "finish_work", {"p_work": asdict(row)})

    def waiting(self, *, limit: int = 0) -> WaitingWork:
        """Returns what waits, with the `limit` oldest rows."""
        answer = restored(call(self.client, "waiting_work", {"p_limit": limit}))
        return WaitingWork(
            answer["count"],
            answer["oldest_seconds"],
            [WaitingReason(**row, reason_code=code_of(row["reason"])) for row in answer["reasons"]],
            [waiting_of(row) for row in answer["rows"]],
        )


def note_requests(client: Client, materials: Collection[str], reason: str) -> None:
    """Records that messages about these pages are sent, before they are."""
    if materials:
        call(client, "note_requests", {"p_materials": sorted(materials), "p_reason": stored(reason)})
