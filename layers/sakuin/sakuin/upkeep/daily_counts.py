"""Counters of a day: questions by project and key, and how long answers and uploads took; no text and no person."""

import logging
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import accumulate
from secrets import randbelow
from typing import Any

from sakuin.errors import SakuinError
from sakuin.platform.run_all import in_thread
from sakuin.platform.supabase.client import Client, call
from sakuin.platform.telemetry import Meter

# What the console shows. `maintain` deletes what is older.
DAYS = 30
# For a write, which no question waits for.
SECONDS = 2.0
_SECONDS_BETWEEN = 10.0
_SHARDS = 8
# Different counters of a worker between two writes. What is beyond them counts for an unnamed key.
_MOST = 1000
CALLERS = 20
# Durations are counted up to these milliseconds; the last one stands for everything longer.
EDGES = (
    50,
    100,
    150,
    200,
    300,
    500,
    750,
    1000,
    1500,
    2000,
    3000,
    5000,
    10_000,
    20_000,
    60_000,
    300_000,
    3_600_000,
    86_400_000,
)
# The counters of a meter that count here, too.
_COUNTERS = {
    "Searches": "asked",
    "TableSearches": "asked",
    "SearchesWithoutAnswer": "refused",
    "TableSearchesWithoutAnswer": "refused",
    "ToolCallsFailed": "failed",
}

Row = Mapping[str, Any]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DailyCounts:
    """Adds counters up in a worker's memory and writes them at most once in ten seconds.

    `caller` is the project (None: the library) and the key of the current request, `asked` counts its questions.
    Lambda freezes a worker once it has answered, so that `begin_request` writes during the next event. A worker that
    ends before loses its last counters. So does a write that fails: repeated, it could count twice.
    """

    write: Callable[[Sequence[Row]], None]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    caller: tuple[str | None, str] = (None, "")
    asked: int = 0
    _totals: Counter[tuple[date, str | None, str, str]] = field(default_factory=Counter)
    _written: float = -_SECONDS_BETWEEN
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_request(self) -> None:
        """Writes what was counted before in a thread, if the last write is ten seconds ago, and returns at once."""
        self.asked = 0
        if rows := self._due():
            in_thread(partial(self._write, rows), name="daily counts")

    def end_request(self, milliseconds: float) -> None:
        """Counts how long a request with questions took."""
        if self.asked:
            self.add_duration("ms", milliseconds)

    def set_caller(self, project_id: str | None, key: str) -> None:
        """Sets the caller of what is counted next; a worker answers one request at a time."""
        self.caller = project_id, key

    def add(self, name: str, value: int = 1) -> None:
        """Adds to a counter of the caller."""
        self.asked += value if name == "asked" else 0
        self._add(*self.caller, name, value)

    def add_duration(self, name: str, milliseconds: float) -> None:
        """Counts a duration, for no caller."""
        edge = EDGES[min(bisect_left(EDGES, milliseconds), len(EDGES) - 1)]
        self._add(None, "", f"{name}:{edge}", 1)

    def _add(self, project_id: str | None, key: str, name: str, value: int) -> None:
        if value <= 0:
            return
        with self._lock:
            day = self.now().date()
            full = len(self._totals) >= _MOST and (day, project_id, key, name) not in self._totals
            self._totals[(day, None, "", name) if full else (day, project_id, key, name)] += value

    def write_now(self) -> None:
        """Writes what was counted, if the last write is ten seconds ago. A failure is logged and not raised."""
        if rows := self._due():
            self._write(rows)

    def _due(self) -> list[Row]:
        with self._lock:
            if not self._totals or self.clock() - self._written < _SECONDS_BETWEEN:
                return []
            self._written, totals, self._totals = self.clock(), self._totals, Counter()
        return [
            {"day": day.isoformat(), "project_id": project_id, "key": key, "name": name, "total": total}
            for (day, project_id, key, name), total in totals.items()
        ]

    def _write(self, rows: Sequence[Row]) -> None:
        try:
            self.write(rows)
        except SakuinError:
            logger.warning("counters of the day are lost", exc_info=True)


@dataclass(frozen=True, slots=True)
class CountingMeter:
    """A `Meter` that also counts the questions of a day."""

    meter: Meter
    counts: DailyCounts

    def count(self, name: str, value: float = 1) -> None:
        """Adds to a counter."""
        self.meter.count(name, value)
        if name in _COUNTERS:
            self.counts.add(_COUNTERS[name], int(value))

    def record_duration(self, name: str, milliseconds: float) -> None:
        """Records how long a call took."""
        self.meter.record_duration(name, milliseconds)


@dataclass(frozen=True, slots=True)
class CallerCounts:
    """A project (None: the library) and a key that asked. `key` is an endpoint's id, the beginning of a key's hash,
    `user` or `public`."""

    project_id: str | None
    project: str | None
    key: str
    asked: int
    refused: int
    weak: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The counters of days, the first day first, and the callers that asked most. A day may have none."""

    days: tuple[date, ...]
    counters: tuple[Mapping[str, int], ...]
    callers: tuple[CallerCounts, ...]

    def series(self, name: str) -> list[int]:
        """Returns the counter of each day."""
        return [counters.get(name, 0) for counters in self.counters]

    def percentiles(self, name: str, share: float) -> list[int]:
        """Returns the milliseconds of each day within which this share of the durations was; 0 without any."""
        return [_percentile([counters.get(f"{name}:{edge}", 0) for edge in EDGES], share) for counters in self.counters]

    def within(self, name: str, share: float) -> int:
        """Returns the milliseconds within which this share of the durations of all days was; 0 without any."""
        return _percentile([sum(self.series(f"{name}:{edge}")) for edge in EDGES], share)


def usage_of(row: Mapping[str, Any]) -> Usage:
    """Returns the counters of the last days, from an answer of the SQL function `daily_counts`."""
    today = datetime.now(UTC).date()
    days = tuple(today - timedelta(days=ago) for ago in reversed(range(DAYS)))
    counters = tuple(row["days"].get(day.isoformat(), {}) for day in days)
    return Usage(days, counters, tuple(CallerCounts(**each) for each in row["callers"]))


def _percentile(totals: Sequence[int], share: float) -> int:
    threshold = sum(totals) * share
    sums = accumulate(totals)
    return next((edge for edge, sum_ in zip(EDGES, sums, strict=True) if sum_ >= threshold), 0) if threshold else 0


@dataclass(frozen=True, slots=True)
class DailyCountRecords:
    """The table `daily_count`."""

    client: Client

    def write(self, rows: Sequence[Row]) -> None:
        """Adds what a worker has counted, to a shard by chance, so that few workers wait for the same row."""
        call(self.client, "add_daily_counts", {"p_shard": randbelow(_SHARDS), "p_counts": list(rows)})

    def delete_old(self, *, question_days: int = DAYS) -> int:
        """Deletes counters and judgements of all days but the last ones, and questions of all but `question_days`.

        Returns the number of deleted rows.
        """
        return int(call(self.client, "delete_old_days", {"p_days": DAYS, "p_question_days": question_days}))
