"""Work that did not finish: which page or Table, why, since when, and what happens next. In Postgres."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import httpx

from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import Client, call, credentials

WorkKind = Literal["file", "material", "table", "upload"]
WorkState = Literal["retrying", "waiting", "failed"]

# How long due work belongs to the maintenance that claimed it, and its message may take to show an effect.
_CLAIMED_SECONDS = 180
_PROBE_CHUNKS = 32
# No function runs for longer.
_LAST_DELIVERY_SECONDS = 900
# A worker writes these when its time may nearly be over.
_TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkSubject:
    """What a message is about.

    `id` is the S3 key of a `file` (a page, `learns.yml`, `synonyms.yml`), the name of a `material` that is indexed
    again, the id of a `table`, the S3 key of an `upload` of a Table's document. `fingerprint` names the index over
    Tables ("" for all). `version_id`, `sequencer` and `removed` are those of a file's event.
    """

    kind: WorkKind
    id: str
    fingerprint: str = ""
    version_id: str | None = None
    sequencer: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class DueWork:
    """Work that maintenance has to send a message for. `chunks` are those of a Table to probe with; none: scan it."""

    subject: WorkSubject
    project_id: str | None
    chunks: Sequence[str]


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """What people see of unfinished work. `retry_at` is when it is tried again by itself; None for dead letters."""

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


@dataclass(frozen=True, slots=True)
class UnfinishedCounts:
    """How much work is in each state, and the seconds that the oldest has waited for a vendor, or past its time."""

    states: Mapping[str, int]
    oldest_waiting_seconds: int = 0


def short_client(url: str, key: str) -> Client:
    """A client that gives up after two seconds and does not retry."""
    address = f"{url}/rest/v1"
    session = httpx.Client(base_url=address, timeout=_TIMEOUT_SECONDS)
    return Client(address, headers=credentials(key), http_client=session, retry_enabled=False)


@dataclass(frozen=True, slots=True)
class UnfinishedWorkStore:
    """The table `unfinished_work`. Each method is one transaction; `Unavailable` if Supabase does not answer."""

    client: Client

    def record_retry(self, subject: WorkSubject, reason: str, *, vendor: str | None, seconds: float) -> None:
        """Records that the subject's queue delivers its message again after `seconds`."""
        self._record(subject, "retrying", reason, vendor, seconds=seconds, longest=None)

    def defer(self, subject: WorkSubject, decision: Defer) -> bool:
        """Records that the subject waits; False if it has been in trouble for too long to wait any more."""
        return self._record(
            subject, "waiting", decision.reason, decision.vendor, seconds=decision.seconds, longest=decision.longest
        )

    def record_last_delivery(self, subject: WorkSubject, reason: str) -> None:
        """Records `reason` as why the subject failed, unless its worker records something else afterwards."""
        self._record(subject, "failed", reason, None, seconds=_LAST_DELIVERY_SECONDS, longest=None)

    def record_dead_letter(self, subject: WorkSubject, reason: str) -> None:
        """Records that the subject's message is a dead letter."""
        self._record(subject, "failed", reason, None, seconds=0, longest=None)

    def finish(self, subject: WorkSubject, *, vendor_answered: bool) -> None:
        """Records that the subject's work has finished. Nothing recorded is not an error.

        `vendor_answered`: the work asked the vendor that it waited for; what else waits for it is released.
        """
        call(self.client, "finish_work", {"p_work": _row(subject), "p_answered": vendor_answered})

    def claim_due(self, *, limit: int) -> Sequence[DueWork]:
        """Claims what is due, longest in trouble first. While a vendor is away, one probe of it at a time."""
        arguments = {"p_limit": limit, "p_seconds": _CLAIMED_SECONDS, "p_batch": _PROBE_CHUNKS}
        return [_due(row) for row in call(self.client, "claim_due_work", arguments)]

    def rows(
        self, *, state: WorkState | None = None, subjects: Collection[str] | None = None, limit: int = 500
    ) -> Sequence[UnfinishedWork]:
        """What is unfinished, longest in trouble first."""
        given = {"state": state, "subjects": None if subjects is None else sorted(subjects)}
        wanted = {name: value for name, value in given.items() if value is not None}
        rows = call(self.client, "unfinished_rows", {"p_wanted": wanted, "p_limit": limit})
        return [UnfinishedWork(**row) for row in rows]

    def counts(self) -> UnfinishedCounts:
        """How much there is."""
        row = dict(call(self.client, "unfinished_counts", {}))
        oldest = int(row.pop("oldest_waiting_seconds"))
        return UnfinishedCounts(row, oldest)

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
