"""Rows of work in memory: what the SQL of `work` promises, in Python; and queues that keep what they were given."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import get_args

from sakuin.domain.work import (
    About,
    Again,
    Begun,
    Dead,
    Done,
    DueWork,
    Ended,
    Parked,
    Taken,
    WorkCounts,
    WorkQueueName,
    WorkRow,
    WorkState,
)
from sakuin.errors import Unavailable

LOST, CLAIMED, UNHEARD, SOON = 45, 60, 180, 600
CLOCKS_DIFFER = 30


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `work`."""

    taken: Taken
    state: WorkState
    attempt: int
    until: float
    taken_at: float
    heartbeat_at: float
    parks: int = 0
    released: bool = False
    vendor: str | None = None
    reason: str | None = None
    since: float | None = None


@dataclass
class MemoryWork:
    """`WorkRows`. `now` is the only clock; `down` makes every call fail; `beats` counts signs of life."""

    now: float = 1_000_000.0
    down: bool = False
    beats: int = 0
    table: dict[str, Row] = field(default_factory=dict)
    restarts: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)

    def begin(self, taken: Sequence[Taken]) -> Mapping[str, Begun]:
        self._there()
        newest = {one.id: one for one in sorted(taken, key=lambda one: one.sent_at)}
        return {one.id: self._begun(one) for one in newest.values()}

    def _begun(self, taken: Taken) -> Begun:
        old = self.table.get(taken.id)
        if old is not None and old.state == "dead":
            if taken.sent_at <= (old.since or 0) - CLOCKS_DIFFER:
                return Begun(0, 0, dead=True)
            old = replace(old, attempt=0, parks=0, reason=None, since=None)
        row = old or Row(taken, "in_hand", taken.tries - 1, 0, self.now, self.now)
        row = replace(row, state="in_hand", attempt=row.attempt + 1, heartbeat_at=self.now, until=self.now + LOST)
        row = replace(row, taken=replace(row.taken, sent_at=taken.sent_at))
        self.table[taken.id] = row
        return Begun(row.attempt, row.parks, waited=0 if row.since is None else self.now - row.since)

    def beat(self, ids: Collection[str]) -> None:
        self._there()
        self.beats += 1
        for work_id in ids:
            row = self.table.get(work_id)
            if row is not None and row.state == "in_hand":
                self.table[work_id] = replace(row, heartbeat_at=self.now, until=self.now + LOST)

    def end(self, ended: Sequence[Ended]) -> None:
        self._there()
        gone = [self.table.pop(one.taken.id, None) for one in ended if isinstance(one.outcome, Done)]
        for vendor in {row.vendor for row in gone if row is not None and row.vendor}:
            self._change(vendor, released=True)
        for one in ended:
            self._ended(one)
        for one in ended:
            row = self.table.get(one.taken.id)
            if isinstance(one.outcome, Parked) and row is not None and row.vendor is not None:
                self._change(row.vendor, released=False)

    def _change(self, vendor: str, *, released: bool) -> None:
        for work_id, row in self.table.items():
            if row.vendor == vendor and row.state == "parked":
                until = self.now if released else row.until
                self.table[work_id] = replace(row, released=released, until=until)

    def _ended(self, one: Ended) -> None:
        taken, outcome = one.taken, one.outcome
        new = Row(taken, "waiting", taken.tries, 0, self.now, self.now)
        row = replace(self.table.get(taken.id, new), released=False, vendor=None)
        since = self.now if row.since is None else row.since
        match outcome:
            case Again(seconds, reason, vendor):
                row = replace(row, state="waiting", reason=reason, since=since, until=self.now + seconds + UNHEARD)
                row = replace(row, vendor=vendor)
            case Parked(seconds, reason, vendor):
                row = replace(row, state="parked", reason=reason, since=since, until=self.now + seconds)
                row = replace(row, vendor=vendor, attempt=0, parks=row.parks + 1)
            case Dead(reason):
                row = replace(row, state="dead", reason=reason, since=self.now)
            case _:
                return
        self.table[taken.id] = row

    def due(self, *, limit: int) -> Sequence[DueWork]:
        self._there()
        late = [row for row in self.table.values() if row.state != "dead" and row.until <= self.now]
        late = sorted(filter(self._may_go, late), key=_age)[:limit]
        for row in late:
            self.table[row.taken.id] = replace(row, state="waiting", until=self.now + CLAIMED)
        return [_due(row) for row in late]

    def _may_go(self, row: Row) -> bool:
        if row.state != "parked" or row.vendor is None or row.released:
            return True
        others = [other for other in self.table.values() if other.vendor == row.vendor]
        if any(map(self._asks, others)):
            return False
        ready = [o for o in others if o.state == "parked" and not o.released and o.until <= self.now]
        return row == min(ready, key=lambda other: (other.parks, *_age(other)))

    def _asks(self, row: Row) -> bool:
        """Whether its vendor is asked by this one, or was lately."""
        if row.state == "waiting":
            return row.until <= self.now + SOON
        return row.state == "in_hand" or (row.state == "parked" and row.parks > 1 and row.until > self.now)

    def sent(self, ids: Collection[str]) -> None:
        self._there()
        for work_id in ids:
            row = self.table.get(work_id)
            if row is not None and row.state == "waiting":
                self.table[work_id] = replace(row, until=self.now + UNHEARD)

    def bury(self, work_id: str, reason: str) -> None:
        self._there()
        row = self.table[work_id]
        self.table[work_id] = replace(row, state="dead", reason=reason, since=self.now, vendor=None)

    def restarted(self, table_id: str, fingerprint: str, *, seconds: int) -> int | None:
        count, at = self.restarts.get((table_id, fingerprint), (0, -1e9))
        if at > self.now - seconds:
            return None
        count = count + 1 if at > self.now - 86_400 else 1
        self.restarts[table_id, fingerprint] = (count, self.now)
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
        self._there()
        found = [
            _row(row)
            for work_id, row in sorted(self.table.items(), key=lambda item: (item[1].taken_at, item[0]))
            if (state is None or row.state == state)
            and (queue is None or row.taken.queue == queue)
            and (subjects is None or row.taken.about.subject in subjects)
            and (ids is None or work_id in ids)
        ]
        return found[:limit]

    def counts(self) -> WorkCounts:
        self._there()
        states = [row.state for row in self.table.values()]
        ages = [
            self.now - (row.since or self.now)
            for row in self.table.values()
            if row.state == "parked" and (row.vendor is not None or row.until < self.now - 3600)
        ]
        return WorkCounts({state: states.count(state) for state in get_args(WorkState)}, int(max(ages, default=0)))

    def _there(self) -> None:
        if self.down:
            raise Unavailable("Supabase did not answer", vendor="supabase")


@dataclass
class MemoryWorkQueues:
    """`WorkQueues`. What was sent and buried stays; `line` is how many messages wait for a worker."""

    sent: list[DueWork] = field(default_factory=list)
    buried: list[DueWork] = field(default_factory=list)
    line: int = 0

    def send(self, work: DueWork) -> None:
        self.sent.append(work)

    def bury(self, work: DueWork) -> None:
        self.buried.append(work)

    def lines_are_empty(self, *_queues: WorkQueueName) -> bool:
        return self.line == 0


def a_message(
    name: str = "m1",
    *,
    queue: WorkQueueName = "material",
    subject: str | None = "junior/x",
    tries: int = 1,
    sent_at: float = 1_000_000.0,
) -> Taken:
    """A message that a worker took."""
    return Taken(name, queue, f'{{"body of": "{name}"}}', "r1", About(subject), tries, sent_at)


def _age(row: Row) -> tuple[float, str]:
    return (-1.0 if row.since is None else row.since, row.taken.id)


def _due(row: Row) -> DueWork:
    taken = row.taken
    lost = row.state == "in_hand"
    return DueWork(taken.id, taken.queue, taken.body, taken.correlation_id, taken.about, row.attempt, lost)


def _row(row: Row) -> WorkRow:
    return WorkRow(
        id=row.taken.id,
        queue=row.taken.queue,
        state=row.state,
        subject=row.taken.about.subject,
        attempt=row.attempt,
        vendor=row.vendor,
        reason=row.reason,
        taken_at=_moment(row.taken_at),
        heartbeat_at=_moment(row.heartbeat_at),
        since=None if row.since is None else _moment(row.since),
        until=None if row.state == "dead" else _moment(row.until),
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
