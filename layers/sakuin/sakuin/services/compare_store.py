"""Chunks that are recorded as stored and that the store has lost are wanted again."""

from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.tables import TableIndex

_LOST_A_REQUEST = 1_000


def compared(store: ChunkStore, index: TableIndex, namespace: str, table_id: str, generation: int) -> None:
    """Compares a Table's records with the store, and remembers that it is done. Nothing stops answering for it."""
    # The records first: what is stored meanwhile is in the store, and not among them.
    recorded = index.recorded(table_id)
    lost = [recorded[doc_id] for doc_id in recorded.keys() - store.ids(namespace).keys()]
    for at in range(0, len(lost), _LOST_A_REQUEST):
        index.lost(table_id, lost[at : at + _LOST_A_REQUEST])
    index.compared(table_id, generation)
