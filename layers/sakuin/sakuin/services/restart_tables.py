"""A Table whose indexing stands still is walked anew, until that has been of no use too often."""

from collections.abc import Callable
from dataclasses import dataclass

from sakuin.domain.work import MAX_TRIES
from sakuin.ports.tables import TableIndex, TableQueues
from sakuin.ports.work import WorkQueues, WorkRows

# An event is sent within a second, or by the next minute's maintenance: after two of those it is lost.
SECONDS_WITHOUT_A_LINE = 120
# Where messages wait for a worker, the Table's may be among them; walking it anew would only make the line longer.
SECONDS_WITH_A_LINE = 900


@dataclass(frozen=True, slots=True)
class RestartTables:
    """Of Tables that no row of work speaks of: whatever should have been done for them is lost.

    All of it in one index: `asks` name it, and `gave_up` says it there.
    """

    fingerprint: str
    index: TableIndex
    asks: TableQueues
    rows: WorkRows
    queues: WorkQueues
    gave_up: Callable[[str, str], None]

    def __call__(self) -> int:
        """How many are walked anew. A Table that stands still after that, again and again, gets an error instead."""
        if not self.index.stuck(SECONDS_WITHOUT_A_LINE):
            return 0
        empty = self.queues.lines_are_empty("tool", "embed")
        seconds = SECONDS_WITHOUT_A_LINE if empty else SECONDS_WITH_A_LINE
        restarted = 0
        for project_id, table_id in self.index.stuck(seconds):
            times = self.rows.restarted(table_id, self.fingerprint, seconds=seconds)
            if times is not None and times <= MAX_TRIES:
                self.asks.index(project_id, table_id)
                restarted += 1
            elif times is not None:
                self.gave_up(table_id, f"Its indexing was started {MAX_TRIES} times and stood still each time")
        return restarted
