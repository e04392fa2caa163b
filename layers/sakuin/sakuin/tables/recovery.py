"""Recovery of the indexing of Tables: restarts of stalled Tables, Tables that only wait."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sakuin.errors import OutOfTime, Unavailable
from sakuin.platform.retry import MAX_FAILURES
from sakuin.platform.run_all import run_all
from sakuin.tables.chunk_store import ChunkStore
from sakuin.tables.messages import TableQueues
from sakuin.tables.nodes import UnindexedTable
from sakuin.tables.postgres import TableIndex

# An event arrives within a second, or with the maintenance of the next minute. After two minutes it is lost.
SECONDS_WITHOUT_BACKLOG = 120

# With a backlog, the message of the Table may be in the queue; another scan would only make the queue longer.
SECONDS_WITH_BACKLOG = 900


def complete_indexed(store: ChunkStore, index: TableIndex, table: UnindexedTable | None) -> bool:
    """Completes a Table if the store has indexed it. Returns whether it is complete.

    While the store still indexes it, or does not answer, `maintain` asks again each minute.
    """
    if table is None:
        return False
    try:
        return store.is_indexed(table.namespace) and index.mark_indexed(table)
    except (Unavailable, OutOfTime):
        return False


@dataclass(frozen=True, slots=True)
class RestartTables:
    """Starts the indexing of stalled Tables: incomplete ones, without unfinished work that could complete them.

    `indexes` are the kept index versions, by fingerprint. `has_backlog` returns whether the queues of Tables have
    messages, waiting or in progress.
    """

    indexes: Callable[[], Mapping[str, TableIndex]]
    queues_of: Callable[[str], TableQueues]
    has_backlog: Callable[[], bool]

    def __call__(self) -> int:
        """Starts stalled Tables and returns their number. Records an error on those that keep stalling."""
        return sum(run_all(self.indexes().items(), lambda each: self._restart(*each)))

    def _restart(self, fingerprint: str, index: TableIndex) -> int:
        if not index.stalled_tables(SECONDS_WITHOUT_BACKLOG):
            return 0
        seconds = SECONDS_WITH_BACKLOG if self.has_backlog() else SECONDS_WITHOUT_BACKLOG
        restarted = 0
        for project_id, table_id in index.stalled_tables(seconds):
            attempts = index.record_start(table_id, seconds=seconds)
            if attempts is not None and attempts <= MAX_FAILURES:
                self.queues_of(fingerprint).index(project_id, table_id)
                restarted += 1
            elif attempts is not None:
                index.give_up(table_id, f"Its indexing was started {MAX_FAILURES} times and stalled each time")
        return restarted
