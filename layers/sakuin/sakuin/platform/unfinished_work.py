"""The table `unfinished_work`: work that did not finish, the reason, since when, and the next attempt."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import Client, call

WorkKind = Literal["file", "material", "table", "upload", "deletion"]
WorkState = Literal["retrying", "waiting", "failed"]

# How long claimed work is not due again: its message needs time to have an effect.
_CLAIMED_SECONDS = 180
_PROBE_CHUNKS = 32
# The columns that the rows are ordered by.
_PLACE = ("since", "subject", "kind", "fingerprint")
# Longer than any function runs.
_LAST_DELIVERY_SECONDS = 900
# For a request: a worker may have little time left when it writes rows.
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkSubject:
    """The subject of a message.

    `id` is the S3 key of a `file` (a page, `learns.yml`, `synonyms.yml`), the name of a `material` that is indexed
    again, the id of a `table`, or the S3 key of an `upload` of a Table's document. `fingerprint` names the index over
    Tables ("" for all). `version_id`, `sequencer` and `removed` come from a file's event.
    """

    kind: WorkKind
    id: str
    fingerprint: str = ""
    version_id: str | None = None
    sequencer: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class DueWork:
    """Work that is due. `chunks` are the chunks of a Table for a probe; without chunks the Table is scanned."""

    subject: WorkSubject
    project_id: str | None
    chunks: Sequence[str]


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """A row of unfinished work. `retry_at` is the time of the next automatic attempt; None for dead letters."""

    kind: WorkKind
    subject: str
    fingerprint: str
    state: WorkState
    reason: str
    vendor: str | None
    version_id: str | None
    removed: bool
    attempts: int
    since: str
    retry_at: str | None

    @property
    def place(self) -> tuple[str, ...]:
        """Returns its place in the order of the rows."""
        return tuple(getattr(self, name) for name in _PLACE)


@dataclass(frozen=True, slots=True)
class UnfinishedCounts:
    """The rows in each state, and the seconds that the oldest has waited for a vendor or is overdue."""

    states: Mapping[str, int]
    oldest_waiting_seconds: int = 0

    @property
    def total(self) -> int:
        """The number of all rows."""
        return sum(self.states.values())


@dataclass(frozen=True, slots=True)
class LeasedMessage:
    """A message whose work has taken for more than some seconds. `is_over`: its worker no longer extends the lease."""

    queue: str
    body: str
    since: str
    is_over: bool


@dataclass(frozen=True, slots=True)
class UnfinishedWorkStore:
    """The rows of the table. Each method is one transaction."""

    client: Client

    def record_retry(self, subject: WorkSubject, reason: str, *, vendor: str | None, seconds: float) -> None:
        """Records that the queue delivers the message again after `seconds`."""
        self._record(subject, "retrying", reason, vendor, seconds=seconds, longest=None)

    def record_wait(self, subject: WorkSubject, reason: str, *, seconds: float, longest: float) -> bool:
        """Records the same of work that did not fail; False if it has been unfinished for more than `longest`."""
        return self._record(subject, "retrying", reason, None, seconds=seconds, longest=longest)

    def defer(self, subject: WorkSubject, decision: Defer) -> bool:
        """Records that the work waits; False if it has been unfinished for longer than `decision.longest`."""
        return self._record(
            subject, "waiting", decision.reason, decision.vendor, seconds=decision.seconds, longest=decision.longest
        )

    def record_last_delivery(self, subject: WorkSubject, reason: str) -> None:
        """Records `reason` as a failure in advance; the worker replaces it if it can."""
        self._record(subject, "failed", reason, None, seconds=_LAST_DELIVERY_SECONDS, longest=None)

    def record_dead_letter(self, subject: WorkSubject, reason: str) -> None:
        """Records that the message became a dead letter."""
        self._record(subject, "failed", reason, None, seconds=0, longest=None)

    def finish(self, subject: WorkSubject, *, vendor_answered: bool) -> None:
        """Deletes the row of finished work. A missing row is not an error.

        `vendor_answered`: the work called the vendor, so all other work that waits for this vendor becomes due.
        """
        call(self.client, "finish_work", {"p_work": _row(subject), "p_answered": vendor_answered})

    def claim_due(self, *, limit: int) -> Sequence[DueWork]:
        """Claims due work, the oldest first. During an outage of a vendor it claims one probe at a time."""
        arguments = {"p_limit": limit, "p_seconds": _CLAIMED_SECONDS, "p_batch": _PROBE_CHUNKS}
        return [_due(row) for row in call(self.client, "claim_due_work", arguments)]

    def rows(
        self,
        *,
        state: WorkState | None = None,
        subjects: Collection[str] | None = None,
        after: Sequence[str] | None = None,
        limit: int = 500,
    ) -> Sequence[UnfinishedWork]:
        """Returns unfinished work, the oldest first. `after` is the `place` of the last row of the page before."""
        wanted: dict[str, Any] = {"state": state} if state else {}
        if after is not None:
            wanted["after"] = dict(zip(_PLACE, after, strict=True))
        if subjects is not None:
            wanted["subjects"] = sorted(subjects)
        rows = call(self.client, "unfinished_rows", {"p_wanted": wanted, "p_limit": limit})
        return [UnfinishedWork(**row) for row in rows]

    def counts(self) -> UnfinishedCounts:
        """Returns the counts of all rows."""
        row = dict(call(self.client, "unfinished_counts", {}))
        return UnfinishedCounts(oldest_waiting_seconds=int(row.pop("oldest_waiting_seconds")), states=row)

    def renew_lease(self, message_id: str, queue: str, body: str, *, worked: float, seconds: float) -> None:
        """Records that a worker has had a message for `worked` seconds, and keeps it for `seconds` more."""
        arguments = {"p_message": message_id, "p_queue": queue, "p_body": body}
        call(self.client, "renew_lease", {**arguments, "p_worked": worked, "p_seconds": seconds})

    def end_lease(self, message_id: str) -> None:
        """Deletes the lease of a message that its worker has finished. A missing one is not an error."""
        call(self.client, "end_lease", {"p_message": message_id})

    def leases(self, *, limit: int = 100) -> Sequence[LeasedMessage]:
        """Returns the leases that are recorded, the oldest first."""
        return [LeasedMessage(**row) for row in call(self.client, "message_leases", {"p_limit": limit})]

    def _record(
        self,
        subject: WorkSubject,
        state: WorkState,
        reason: str,
        vendor: str | None,
        *,
        seconds: float,
        longest: float | None,
    ) -> bool:
        arguments: dict[str, Any] = {
            "p_work": _row(subject),
            "p_state": state,
            "p_reason": reason,
            "p_vendor": vendor,
            "p_seconds": seconds,
            "p_longest": longest,
        }
        return bool(call(self.client, "record_unfinished", arguments))


def _row(subject: WorkSubject) -> dict[str, Any]:
    return asdict(subject) | {"subject": subject.id}


def _due(row: Mapping[str, Any]) -> DueWork:
    subject = WorkSubject(
        row["kind"], row["subject"], row["fingerprint"], row["version_id"], row["sequencer"], row["removed"]
    )
    return DueWork(subject, row["project_id"], tuple(row["chunks"]))
