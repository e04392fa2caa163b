"""When writes are committed and indexed, and how many queries run at once (turbopuffer's guarantees and limits)."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sakuin_local.turbopuffer import limits
from sakuin_local.turbopuffer.limits import Refused


@dataclass(frozen=True, slots=True)
class Pace:
    """The speed of the stand-in, in seconds. The defaults are turbopuffer's published figures.

    `commit`: the shortest write (p50 of 512 kB). `between_commits`: a namespace has one commit in so long, which
    concurrent writes share. `indexing`: from a commit until its rows are indexed ("tens of seconds"). `patience`: how
    long a query waits for others. Tests replace `clock` and `sleep`.
    """

    commit: float = 0.165
    between_commits: float = 1.0
    indexing: float = 30.0
    patience: float = 0.8
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


# For a stack on one machine, where nobody waits for an object storage.
AT_ONCE = Pace(commit=0.0, between_commits=0.0, indexing=0.0)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A write: when it is indexed, its bytes, and the ids that queries do not see before."""

    indexed_at: float
    size: int
    hidden: Collection[str]


class WriteAheadLog:
    """The writes of one namespace: the next commit, and what is not indexed yet.

    A write that leaves more than 128 MiB unindexed is hidden until it is indexed. Meanwhile turbopuffer shows the older
    version of a replaced or deleted row; here it is gone at once.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._lock = threading.Lock()
        self._next_commit = float("-inf")
        self._entries: list[_Entry] = []

    def wait_for_commit(self) -> None:
        """Waits until the commit of a write that arrives now."""
        with self._lock:
            now = self._pace.clock()
            # A commit takes the writes that arrive before its upload begins.
            if now + self._pace.commit > self._next_commit:
                self._next_commit = max(now + self._pace.commit, self._next_commit + self._pace.between_commits)
            seconds = self._next_commit - now
        if seconds > 0:
            self._pace.sleep(seconds)

    def add(self, ids: Collection[str], size: int) -> None:
        """Adds a write of so many bytes."""
        unindexed = self._unindexed()
        hidden = ids if sum(entry.size for entry in unindexed) + size > limits.UNINDEXED_SEARCHED_BYTES else ()
        with self._lock:
            self._entries.append(_Entry(self._pace.clock() + self._pace.indexing, size, hidden))

    def unindexed(self) -> dict[str, Any]:
        """Returns the state of the index, as in the metadata of a namespace."""
        entries = self._unindexed()
        if not entries:
            return {"status": "up-to-date"}
        rows = sum(max(len(entry.hidden), 1) for entry in entries)
        return {"status": "updating", "unindexed_bytes": sum(e.size for e in entries), "unindexed_rows": rows}

    def hidden(self) -> set[str]:
        """Returns the rows that queries do not see yet."""
        return {id for entry in self._unindexed() for id in entry.hidden}

    def check_backlog(self) -> None:
        """Raises `Refused` while too much is unindexed."""
        size = sum(entry.size for entry in self._unindexed())
        if size > limits.UNINDEXED_BYTES:
            raise Refused(f"{size} bytes are not indexed yet, the maximum is {limits.UNINDEXED_BYTES}", status=429)

    def _unindexed(self) -> list[_Entry]:
        with self._lock:
            now = self._pace.clock()
            self._entries = [entry for entry in self._entries if entry.indexed_at > now]
            return list(self._entries)


class QuerySlots:
    """The queries in flight of each namespace."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._used: Counter[str] = Counter()

    @contextmanager
    def taken(self, namespace: str, slots: int) -> Iterator[None]:
        """Takes slots while the block runs. A request that needs more than all of them runs alone."""

        def is_free() -> bool:
            used = self._used[namespace]
            return not used or used + slots <= limits.QUERIES_IN_FLIGHT

        with self._changed:
            if not self._changed.wait_for(is_free, self._patience):
                raise Refused(f"more than {limits.QUERIES_IN_FLIGHT} concurrent queries of '{namespace}'", status=429)
            self._used[namespace] += slots
        try:
            yield
        finally:
            with self._changed:
                self._used[namespace] -= slots
                self._changed.notify_all()


def slots_of(body: Any) -> int:
    """Returns the slots of a query or a multi-query: 2 for vectors, else 1.

    turbopuffer's documentation says 2 for exact vector queries, and 1 for others; 2 for both is safe.
    """
    queries = body.get("queries", [body]) if isinstance(body, dict) else [body]
    return sum(map(_slots, queries if isinstance(queries, list) else [queries]))


def _slots(query: Any) -> int:
    rank_by = query.get("rank_by") if isinstance(query, dict) else None
    return 2 if isinstance(rank_by, list) and len(rank_by) > 1 and rank_by[1] in ("ANN", "kNN") else 1
