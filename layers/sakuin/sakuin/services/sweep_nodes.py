"""Rows of versions that no longer answer leave the store."""

from collections.abc import Sequence

from sakuin.ports.chunk_store import ChunkStore
from sakuin.ports.tables import FlippedNode, TableIndex


def swept(store: ChunkStore, index: TableIndex, namespace: str, table_id: str, nodes: Sequence[FlippedNode]) -> None:
    """Deletes the older rows of nodes that have flipped, and remembers that it is done."""
    for node in nodes:
        store.sweep_node(
            namespace,
            json_pointer_hash=node.pointer_hash,
            keep_content_hash=node.content_hash,
            generation=node.generation,
        )
    if nodes:
        index.swept(table_id, nodes)
