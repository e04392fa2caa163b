"""Restarts stalled indexing of Tables, up to a maximum number of attempts."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.platform.retry import MAX_RECEIVES
from sakuin.tables.postgres import TableIndex
from sakuin.tables.queues import TableQueues

# An event is sent within a second, or by the next minute's maintenance: after two of those it is lost.
SECONDS_WITHOUT_BACKLOG = 120

# Where there are messages, the Table's may be among them; another scan would only make the queue longer.
SECONDS_WITH_BACKLOG = 900


@dataclass(frozen=True, slots=True)
class RestartTables:
    """Restarts Tables of one index that no unfinished work explains: whatever should have been done for them is lost.

    `has_backlog` says whether messages about Tables wait, or a worker has one. `give_up` records a reason on a Table's
    Tools.
    """

    fingerprint: str
    index: TableIndex
    queues: TableQueues
    has_backlog: Callable[[], bool]
    give_up: Callable[[str, str, str | None], None]

    def __call__(self) -> int:
        """Returns how many are restarted. A Table that stalls again and again gets an error instead."""
        if not self.index.stalled_tables(SECONDS_WITHOUT_BACKLOG):
            return 0
        seconds = SECONDS_WITH_BACKLOG if self.has_backlog() else SECONDS_WITHOUT_BACKLOG
        restarted = 0
        for project_id, table_id in self.index.stalled_tables(seconds):
            times = self.index.record_restart(table_id, seconds=seconds)
            if times is not None and times <= MAX_RECEIVES:
                self.queues.index(project_id, table_id)
                restarted += 1
            elif times is not None:
                reason = f"Its indexing was started {MAX_RECEIVES} times and stalled each time"
                self.give_up(table_id, reason, self.fingerprint)
        return restarted
