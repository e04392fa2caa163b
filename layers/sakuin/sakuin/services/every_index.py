"""Work on a Table is done in every index that is kept, in each by itself."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # One of the two functions has no Japanese layer, which the other's service needs.
    from sakuin.services.embed_chunks import ChunksEmbedded, EmbedChunks
    from sakuin.services.index_table import IndexTable, TableWalked


@dataclass(frozen=True, slots=True)
class IndexEverywhere:
    """Walks a Table. `indexes` are the walks by fingerprint, that of the index that answers last."""

    indexes: Callable[[], Mapping[str, "IndexTable"]]

    def __call__(
        self,
        project_id: str,
        table_id: str,
        *,
        generation: int | None = None,
        skip: int = 0,
        fingerprint: str | None = None,
    ) -> "TableWalked":
        """Walks for `fingerprint`, or for all; gives what became of the one that answers."""
        from sakuin.services.index_table import TableWalked

        walks = self.indexes()
        if fingerprint is None and generation is not None:
            # A walk that goes on belongs to one index: to none but this, before messages named it.
            fingerprint = list(walks)[-1]
        walked = TableWalked("dropped")
        for name, walk in walks.items():
            if fingerprint in (None, name):
                walked = walk(project_id, table_id, generation=generation, skip=skip)
        return walked


@dataclass(frozen=True, slots=True)
class EmbedEverywhere:
    """Embeds chunks. `indexes` are the workers by fingerprint."""

    indexes: Callable[[], Mapping[str, "EmbedChunks"]]

    def __call__(
        self, project_id: str, table_id: str, ids: Collection[str], *, fingerprint: str | None = None
    ) -> "ChunksEmbedded":
        """Works on a batch of `fingerprint`; where none is named, each index knows its own chunks."""
        from sakuin.services.embed_chunks import ChunksEmbedded

        done = [
            embed(project_id, table_id, ids) for name, embed in self.indexes().items() if fingerprint in (None, name)
        ]
        return ChunksEmbedded(
            stored=sum(each.stored for each in done),
            embedded=sum(each.embedded for each in done),
            ready=any(each.ready for each in done),
        )
