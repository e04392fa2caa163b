"""The table `unfinished_work`: work that did not finish, the reason, since when, and the next attempt."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import Client, answer, call

WorkState = Literal["retrying", "waiting", "failed"]

# How long claimed work is not due again: its message needs time to have an effect.
_CLAIMED_SECONDS = 180
# The columns that the rows are ordered by.
_PLACE = ("since", "subject", "kind", "fingerprint")
# A message whose lease ended before was delivered again, or is a dead letter.
_LEASES_SHOWN = timedelta(minutes=15)
# Longer than any function runs.
_LAST_DELIVERY_SECONDS = 900
# For a request: a worker may have little time left when it writes rows.
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkMessage:
    """A message of a queue (its name), as its body and its group ("" for none)."""

    queue: str
    body: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class WorkSubject:
    """The subject of a request: all messages with the same `kind`, `id` and `fingerprint` ("" for all) have one row.

    `sequencer` orders the events of one subject; it is "" for a request about the current state.
    `message` continues the work later; its queue's handler fills it in if it is None. With one of its own, the failed
    message is sent only to find out whether its vendor answers. `asks_vendors`: success proves that the vendors are
    available for which other work waits. `finishes_itself`: SQL deletes the row in the transaction that stores the
    result.
    """

    kind: str
    id: str
    fingerprint: str = ""
    sequencer: str = ""
    message: WorkMessage | None = None
    probe: WorkMessage | None = None
    asks_vendors: bool = True
    finishes_itself: bool = False

    def of(self, received: WorkMessage) -> "WorkSubject":
        """Returns the subject with the messages to send for it, if the work of `received` does not finish."""
        if self.message is None:
            return replace(self, message=received)
        return replace(self, probe=received if self.asks_vendors else None)


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """A row of unfinished work. `retry_at` is the time of the next automatic attempt; None for dead letters.

    `body` is that of the message that continues the work.
    """

    kind: str
    subject: str
    fingerprint: str
    state: WorkState
    reason: str
    vendor: str | None
    attempts: int
    since: str
    retry_at: str | None
    body: str | None = None

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

    def claim_due(self, *, limit: int) -> Sequence[WorkMessage]:
        """Claims due work and returns its messages, the oldest first. In an outage of a vendor, one at a time."""
        arguments = {"p_limit": limit, "p_seconds": _CLAIMED_SECONDS}
        return [WorkMessage(**row) for row in call(self.client, "claim_due_work", arguments)]

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
        row = dict(call(self.client, "unfinished_counts", {}))
        return UnfinishedCounts(oldest_waiting_seconds=int(row.pop("oldest_waiting_seconds")), states=row)

    def renew_lease(self, message_id: str, queue: str, body: str, *, worked: float, seconds: float) -> None:
        """Records that a worker has had a message for `worked` seconds, and keeps it for `seconds` more."""
        arguments = {"p_message": message_id, "p_queue": queue, "p_body": body}
        call(self.client, "renew_lease", {**arguments, "p_worked": worked, "p_seconds": seconds})

    def end_lease(self, message_id: str) -> None:
        """Deletes the lease of a message that its worker has finished. A missing one is not an error."""
        answer(self.client.table("message_lease").delete().eq("message_id", message_id))

    def leases(self, *, limit: int = 100) -> Sequence[LeasedMessage]:
        """Returns the leases that are recorded, the oldest first."""
        now = datetime.now(UTC)
        query = self.client.table("message_lease").select("queue,body,since,until").order("since").limit(limit)
        return [
            LeasedMessage(row["queue"], row["body"], row["since"], datetime.fromisoformat(row["until"]) < now)
            for row in answer(query.gt("until", (now - _LEASES_SHOWN).isoformat()))
        ]

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
    row = asdict(subject) | {"subject": subject.id}
    if subject.message is not None:
        row["message"]["sequencer"] = subject.sequencer
    return row
