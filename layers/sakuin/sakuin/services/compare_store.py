"""What the records say that the store holds of a Table, against what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.domain.reconciliation import RecordedTable, lost_and_left_over
from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.tables import RecordedRows, TableIndex

_LOST_A_REQUEST = 1_000


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs: ids of chunks that the store `lost`, doc ids that are `left_over`, its `newest` generation."""

    recorded: RecordedRows
    lost: Sequence[str]
    left_over: Sequence[str]
    newest: int

    @property
    def is_behind(self) -> bool:
        """Whether the records are older than the store: then no write of theirs would pass."""
        return self.recorded.planned and self.newest > self.recorded.generation


def compared(store: ChunkStore, index: TableIndex, name: str, table_id: str) -> Compared | None:
    """Compares row by row and changes nothing; None when the Table is gone."""
    # The records first: what is stored meanwhile is in the store, and not among them.
    recorded = index.recorded(table_id)
    if recorded is None:
        return None
    rows = store.ids(name)
    table = RecordedTable(recorded.generation, recorded.planned, recorded.stored.keys(), recorded.coming)
    lost, left_over = lost_and_left_over(table, rows)
    newest = max(rows.values(), default=0)
    if newest > recorded.generation:
        # A change that came meanwhile is no backup.
        now = index.recorded(table_id)
        newest = newest if now is not None and now.generation < newest else recorded.generation
    return Compared(recorded, [recorded.stored[doc_id] for doc_id in lost], left_over, newest)


def repaired(rows: Compared, store: ChunkStore, index: TableIndex, name: str, table_id: str) -> None:
    """Wants again what was lost, and takes out what is left over, but for what a newer generation wrote."""
    for at in range(0, len(rows.lost), _LOST_A_REQUEST):
        index.lost(table_id, rows.lost[at : at + _LOST_A_REQUEST])
    if rows.left_over:
        store.delete(name, rows.left_over, generation=rows.recorded.generation)
